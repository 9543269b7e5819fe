/** A block of code: its language, copy, wrap. */
import { Children, isValidElement, type ReactNode, useRef, useState } from 'react';
import { CopyButton } from '../shell/clipboard';
import { strings } from '../strings';

const words = strings.code;

export function CodeBlock({ children }: { children: ReactNode }) {
  const [isWrapped, setWrapped] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const language = languageOf(children);

  return (
    <div className={isWrapped ? 'code-block is-wrapped' : 'code-block'}>
      <div className="code-head">
        <span className="code-language">{language}</span>
        <button type="button" aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
          {isWrapped ? words.unwrap : words.wrap}
        </button>
        <CopyButton of={box} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre ref={box} tabIndex={0}>
        {children}
      </pre>
    </div>
  );
}

function languageOf(children: ReactNode): string {
  const code = Children.toArray(children).find(isValidElement<{ className?: string }>);
  return /language-([\w+#.-]+)/.exec(code?.props.className ?? '')?.[1] ?? words.plain;
}
