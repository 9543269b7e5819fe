/** Reads streamed text to screen readers politely, sentence by sentence. What was there before is not read again, code
 * is only named, and what was said does not stay: whoever looks around later would take it for part of the page. */
import { useEffect, useRef, useState } from 'react';
import { strings } from '../strings';

/** Characters that are read at once: of what comes faster than that, the last. */
const MOST_SPOKEN = 2000;
/** How long words stay in the live region. In ms. */
const STAY = 8000;

interface AnnouncerProps {
  /** Changes with the message that is read. */
  id: string;
  text: string;
  isLive: boolean;
}

/** Stays on the page between messages: screen readers may miss what is in a live region from its beginning. */
export function Announcer({ id, text, isLive }: AnnouncerProps) {
  const [words, setWords] = useState('');
  const read = useRef({ id: '', upTo: 0, wasLive: false, isInCode: false });

  useEffect(() => {
    const now = read.current;
    if (now.id !== id) {
      read.current = { id, upTo: isLive ? 0 : text.length, wasLive: isLive, isInCode: false };
      setWords('');
    } else if (isLive) now.wasLive = true;
    if (!read.current.wasLive) return;
    const { upTo, isInCode } = read.current;
    const end = isLive ? upTo + endOfSentences(text.slice(upTo)) : text.length;
    if (end <= upTo) return;
    const said = withoutCode(text.slice(upTo, end), isInCode);
    setWords(spoken(said.text.slice(-MOST_SPOKEN)));
    read.current.upTo = end;
    read.current.isInCode = said.isInCode;
  }, [id, text, isLive]);

  useEffect(() => {
    if (words === '') return undefined;
    const timer = setTimeout(() => setWords(''), STAY);
    return () => clearTimeout(timer);
  }, [words]);

  return (
    <div className="visually-hidden" aria-live="polite">
      {words}
    </div>
  );
}

/** Where the last finished sentence or line ends. */
export function endOfSentences(text: string): number {
  let end = 0;
  for (const match of text.matchAll(/[.!?…:]["')\]’”»*_]*\s|[。！？]|\n+/g)) end = match.index + match[0].length;
  return end;
}

/** The text with each block of code replaced by a word; and whether one is still open at its end. */
export function withoutCode(text: string, isInCode: boolean): { text: string; isInCode: boolean } {
  if (!isInCode && !/```|~~~/.test(text)) return { text, isInCode };
  const kept: string[] = [];
  let isInside = isInCode;
  for (const line of text.split('\n')) {
    const isFence = /^\s*(```|~~~)/.test(line);
    if (isFence && !isInside) kept.push(strings.code.spoken);
    else if (!isFence && !isInside) kept.push(line);
    if (isFence) isInside = !isInside;
  }
  return { text: kept.join('\n'), isInCode: isInside };
}

/** Without the signs of markdown, which would be read aloud; what is code, or stands between letters, is no sign. */
export function spoken(markdown: string): string {
  return markdown
    .split(/(`+[^`]+`+)/)
    .map((piece, index) => (index % 2 ? piece.replace(/`+/g, '') : withoutSigns(piece)))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

function withoutSigns(text: string): string {
  return text
    .replace(/^[ \t]*(#{1,6}|>+)[ \t]/gm, '')
    .replace(/(?<![\p{L}\p{N}])[*_~]+|[*_~]+(?![\p{L}\p{N}])/gu, '')
    .replace(/[|`]/g, ' ');
}
