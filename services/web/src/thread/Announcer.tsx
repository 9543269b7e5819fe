/** Reads streamed text to screen readers politely, sentence by sentence; what was there before is not read again. */
import { useEffect, useRef, useState } from 'react';

/** Characters that are read at once: of what comes faster than that, the last. */
const MOST_SPOKEN = 2000;

interface AnnouncerProps {
  /** Changes with the message that is read. */
  id: string;
  text: string;
  isLive: boolean;
}

/** Stays on the page between messages: screen readers may miss what is in a live region from its beginning. */
export function Announcer({ id, text, isLive }: AnnouncerProps) {
  const [words, setWords] = useState('');
  const read = useRef({ id: '', upTo: 0, wasLive: false });

  useEffect(() => {
    const now = read.current;
    if (now.id !== id) read.current = { id, upTo: isLive ? 0 : text.length, wasLive: isLive };
    else if (isLive) now.wasLive = true;
    if (!read.current.wasLive) return;
    const { upTo } = read.current;
    const end = isLive ? upTo + endOfSentences(text.slice(upTo)) : text.length;
    if (end <= upTo) return;
    setWords(spoken(text.slice(Math.max(upTo, end - MOST_SPOKEN), end)));
    read.current.upTo = end;
  }, [id, text, isLive]);

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
