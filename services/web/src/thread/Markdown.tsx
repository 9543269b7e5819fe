/** Markdown without raw HTML. Links leave in a new tab; images from elsewhere are not loaded, because their address
 * could carry what the model has read to whoever wrote the text. */
import {
  Children,
  createContext,
  isValidElement,
  memo,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useRef,
} from 'react';
import ReactMarkdown, { type Components, type Options } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { strings } from '../strings';
import { fenceOf, grow, type Split } from './blocks';
import { CodeBlock } from './CodeBlock';
import { Formula, useKatex } from './Formula';
import { withFormulas } from './math';
import { useNear } from './nearness';
import { useReading } from './pace';

type Plugins = NonNullable<Options['remarkPlugins']>;

const PLUGINS: Plugins = [remarkGfm];
/** A text longer than this is read as markdown only where it is looked at. In characters. */
const LONG = 30_000;

const Growing = createContext(false);

const COMPONENTS: Components = {
  pre: ({ children }) => <Preformatted>{children}</Preformatted>,
  code: ({ className, children }) =>
    className?.includes('math-inline') ? (
      <Formula tex={plain(children)} isDisplay={false} />
    ) : (
      <code className={className}>{children}</code>
    ),
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  img: ({ src, alt }) =>
    typeof src === 'string' && src !== '' && isOurs(src) ? (
      <a href={src} target="_blank" rel="noopener">
        <img src={src} alt={alt ?? ''} loading="lazy" />
      </a>
    ) : (
      <a
        href={typeof src === 'string' && src !== '' ? src : undefined}
        target="_blank"
        rel="noopener noreferrer nofollow"
      >
        {strings.imageLeftOut(alt ?? '')}
      </a>
    ),
  // Only task lists have any.
  input: ({ checked }) => (
    <input type="checkbox" checked={checked} disabled aria-label={checked ? strings.taskDone : strings.taskOpen} />
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="table-scroll" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
};

function isOurs(address: string): boolean {
  return URL.canParse(address, location.href) && new URL(address, location.href).origin === location.origin;
}

/** What stands in a `pre`: code with its language, or a formula on lines of its own. */
function Preformatted({ children }: { children: ReactNode }) {
  const isGrowing = useContext(Growing);
  const code = Children.toArray(children).find(isValidElement) as ReactElement<CodeProps> | undefined;
  const className = code?.props.className ?? '';
  const text = plain(code?.props.children);
  if (className.includes('math-display')) return <Formula tex={text} isDisplay />;
  const language = /language-([\w+#.-]+)/.exec(className)?.[1] ?? '';
  return <CodeBlock language={language} code={text.replace(/\n$/, '')} isGrowing={isGrowing} />;
}

interface CodeProps {
  className?: string;
  children?: ReactNode;
}

function plain(children: ReactNode): string {
  return Children.toArray(children)
    .map((child) => (typeof child === 'string' ? child : ''))
    .join('');
}

export const Markdown = memo(function Markdown({ text, isLive }: { text: string; isLive: boolean }) {
  const split = useRef<Split>(undefined);
  const blocks = useMemo(() => {
    split.current = grow(split.current, text);
    return split.current.blocks;
  }, [text]);
  const isLong = text.length > LONG;
  return (
    <div className="prose">
      {blocks.map((block, index) => (
        // Blocks only ever grow at the end, so the place is the identity.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Block key={index} text={block} isGrowing={isLive && index === blocks.length - 1} isLong={isLong} />
      ))}
    </div>
  );
});

interface BlockProps {
  text: string;
  isGrowing: boolean;
  /** Part of a long text. */
  isLong: boolean;
}

const Block = memo(function Block({ text, isGrowing, isLong }: BlockProps) {
  const box = useRef<HTMLDivElement>(null);
  const isNear = useNear(box, isLong && !isGrowing);
  const className = isLong ? 'block is-far' : 'block';
  if (!isNear && !isGrowing) {
    return (
      <div className={`${className} is-unread`} ref={box}>
        {text}
      </div>
    );
  }
  return (
    <div className={className} ref={box}>
      <Growing value={isGrowing}>
        <Read text={text} isGrowing={isGrowing} />
      </Growing>
    </div>
  );
});

function Read({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const fence = fenceOf(text);
  if (fence) return <CodeBlock language={fence.language} code={fence.code} isGrowing={isGrowing} />;
  return <Words text={text} isGrowing={isGrowing} />;
}

function Words({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const hasFormulas = useMemo(() => withFormulas(text) !== undefined, [text]);
  const katex = useKatex(hasFormulas);
  const read = useCallback(
    (words: string) => {
      const math = katex && withFormulas(words);
      const plugins: Plugins = katex && math !== undefined ? [remarkGfm, [...katex.plugin]] : PLUGINS;
      // Called, not rendered: so the time of the reading is known. It has no hooks.
      return ReactMarkdown({ children: math ?? words, remarkPlugins: plugins, components: COMPONENTS });
    },
    [katex],
  );
  return useReading(text, isGrowing, read);
}
