/** A block of code: its language, copy, wrap. */
import { Children, isValidElement, type ReactNode, useRef, useState } from 'react';
import { strings } from '../strings';

const words = strings.code;
const COPIED_FOR = 2000;

export function CodeBlock({ children }: { children: ReactNode }) {
  const [isWrapped, setWrapped] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const language = languageOf(children);

  async function copy() {
    if (!(await copyText(box.current))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_FOR);
  }

  return (
    <div className={isWrapped ? 'code-block is-wrapped' : 'code-block'}>
      <div className="code-head">
        <span className="code-language">{language}</span>
        <button type="button" aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
          {isWrapped ? words.unwrap : words.wrap}
        </button>
        <button type="button" onClick={() => void copy()}>
          {isCopied ? words.copied : words.copy}
        </button>
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

/** The clipboard API is missing on plain http beyond loopback: there the text is at least selected. */
async function copyText(box: HTMLElement | null): Promise<boolean> {
  if (!box) return false;
  try {
    await navigator.clipboard.writeText(box.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(box);
    return false;
  }
}
