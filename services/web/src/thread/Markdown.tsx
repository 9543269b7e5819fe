/** Markdown without raw HTML. Links leave in a new tab; images from elsewhere are not loaded, because their address
 * could carry what the model has read to whoever wrote the text. */
import { memo, useEffect, useMemo, useState } from 'react';
import ReactMarkdown, { type Components, type Options } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { strings } from '../strings';
import { splitBlocks } from './blocks';
import { CodeBlock } from './CodeBlock';

type Highlighter = NonNullable<Options['rehypePlugins']>[number];

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  img: ({ src, alt }) =>
    typeof src === 'string' && isOurs(src) ? (
      <img src={src} alt={alt ?? ''} loading="lazy" />
    ) : (
      <a href={typeof src === 'string' ? src : undefined} target="_blank" rel="noopener noreferrer nofollow">
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

export const Markdown = memo(function Markdown({ text, isLive }: { text: string; isLive: boolean }) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return (
    <div className="prose">
      {blocks.map((block, index) => (
        // Blocks only ever grow at the end, so the place is the identity.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Block key={index} text={block} isGrowing={isLive && index === blocks.length - 1} />
      ))}
    </div>
  );
});

const Block = memo(function Block({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const highlighter = useHighlighter(!isGrowing && /^\s*(```|~~~)/m.test(text));
  return (
    <div className="block">
      <ReactMarkdown remarkPlugins={PLUGINS} rehypePlugins={highlighter} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

let loading: Promise<Highlighter[]> | undefined;

/** The highlighter is a third of the page's code: it is loaded when the first finished block of code appears. */
function useHighlighter(isWanted: boolean): Highlighter[] | undefined {
  const [plugins, setPlugins] = useState<Highlighter[]>();
  useEffect(() => {
    if (!isWanted) return undefined;
    let isCurrent = true;
    loading ??= import('rehype-highlight').then((module) => [[module.default, { detect: false }] as Highlighter]);
    loading.then(
      (loaded) => isCurrent && setPlugins(loaded),
      // Without colours the code is all there; the next block tries again.
      () => {
        loading = undefined;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [isWanted]);
  return isWanted ? plugins : undefined;
}
