/** A block of code: its language, copy, wrap. A long one is drawn in pieces, and only where it is looked at. */
import { memo, useMemo, useRef, useState } from 'react';
import { CopyButton } from '../shell/clipboard';
import { strings } from '../strings';
import { useHighlight } from './highlight';

const words = strings.code;
/** Lines in a piece of a long block. */
const PIECE = 400;
/** Height of a line. In CSS px, as in prose.css. */
const LINE = 22;

interface CodeBlockProps {
  language: string;
  code: string;
  /** More of it is coming: colours wait for the whole. */
  isGrowing?: boolean;
}

export function CodeBlock({ language, code, isGrowing = false }: CodeBlockProps) {
  const [isWrapped, setWrapped] = useState(false);
  const box = useRef<HTMLElement>(null);
  return (
    <div className={isWrapped ? 'code-block is-wrapped' : 'code-block'}>
      <div className="code-head">
        <span className="code-language">{language || words.plain}</span>
        <button type="button" aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
          {isWrapped ? words.unwrap : words.wrap}
        </button>
        <CopyButton of={box} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code ref={box}>
          <Code language={language} code={code} isGrowing={isGrowing} />
        </code>
      </pre>
    </div>
  );
}

function Code({ language, code, isGrowing }: Required<CodeBlockProps>) {
  const runs = useHighlight(language, code, !isGrowing);
  if (!runs) return <Lines text={code} />;
  return runs.map(([kind, text], index) => (
    // The runs of one block never move.
    // biome-ignore lint/suspicious/noArrayIndexKey: see above
    <span key={index} className={kind || undefined}>
      {text}
    </span>
  ));
}

/** Text in lines, as it is; only the last piece is drawn again while it grows. */
export function Lines({ text }: { text: string }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  if (pieces.length < 2) return text;
  // Pieces only ever grow at the end, so the place is the identity.
  // biome-ignore lint/suspicious/noArrayIndexKey: see above
  return pieces.map((piece, index) => <Piece key={index} text={piece} isLast={index === pieces.length - 1} />);
}

const Piece = memo(function Piece({ text, isLast }: { text: string; isLast: boolean }) {
  if (isLast) return <span className="lines">{text}</span>;
  return (
    <span className="lines" style={{ containIntrinsicBlockSize: `auto ${PIECE * LINE}px` }}>
      {text}
    </span>
  );
});

export function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let lines = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) {
    lines += 1;
    if (lines % PIECE !== 0) continue;
    pieces.push(text.slice(from, end + 1));
    from = end + 1;
  }
  pieces.push(text.slice(from));
  return pieces;
}
