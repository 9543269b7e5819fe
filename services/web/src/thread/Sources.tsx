/** Sources as numbered chips. Their sites are asked for nothing, not even for an icon, until somebody follows one. */
import { useState } from 'react';
import { strings } from '../strings';
import { siteOf } from './addresses';
import type { Source } from './sources';

const words = strings.sources;
/** So many are shown at first. */
const FEW = 6;

export function Sources({ sources }: { sources: Source[] }) {
  const [hasAll, setAll] = useState(false);
  if (sources.length === 0) return null;
  const shown = hasAll || sources.length === FEW + 1 ? sources : sources.slice(0, FEW);
  return (
    <nav className="sources" aria-label={words.title}>
      <ol>
        {shown.map((source, index) => (
          <li key={source.url.href}>
            <SourceLink source={source} number={index + 1} />
          </li>
        ))}
        {shown.length < sources.length && (
          <li>
            <button type="button" className="source-chip" onClick={() => setAll(true)}>
              {words.more(sources.length - shown.length)}
            </button>
          </li>
        )}
      </ol>
    </nav>
  );
}

function SourceLink({ source, number }: { source: Source; number: number }) {
  const { url, title } = source;
  return (
    <a
      className="source-chip"
      href={url.href}
      title={title || url.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      <span className="source-number">{number}</span>
      <span className="source-words">{siteOf(url)}</span>
      {title && <span className="visually-hidden">{`: ${title}`}</span>}
    </a>
  );
}

/** The same within a tool's output: a line each, with the title. */
export function SourceList({ sources }: { sources: Source[] }) {
  if (sources.length === 0) return null;
  return (
    <ol className="source-list">
      {sources.map(({ url, title }) => (
        <li key={url.href}>
          <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
            {title || url.href}
          </a>{' '}
          <span className="muted">{siteOf(url)}</span>
        </li>
      ))}
    </ol>
  );
}
