/** The search field above the threads; while it holds words, what was found stands in the threads' place. */
import { type ReactNode, useId, useState } from 'react';
import { describe } from '../api/failure';
import { navigate, threadPath } from '../router';
import { Cross, Lens } from '../shell/icons';
import { useListbox } from '../shell/listbox';
import { ago } from '../shell/time';
import { strings } from '../strings';
import { titleOf } from './putAway';
import { type Hit, type Search, useSearch } from './search';

const words = strings.search;

/** `children` is what stands below the field while nothing is looked for. */
export function SearchField({ onChoose, children }: { onChoose: () => void; children: ReactNode }) {
  const [text, setText] = useState('');
  const sought = text.trim();
  const search = useSearch(sought);
  const hint = useId();
  const count = search.hits.length + (search.hasMore ? 1 : 0);

  function choose(index: number) {
    const hit = search.hits[index];
    if (!hit) return search.loadMore();
    navigate(threadPath(hit.thread.id, hit.message_id));
    onChoose();
  }

  const box = useListbox({ count, isOpen: sought !== '' && search.isLoaded, about: sought, onChoose: choose });
  return (
    <>
      <search className="search">
        <Lens />
        <input
          {...box.field}
          type="text"
          inputMode="search"
          className="search-input"
          id="search-threads"
          aria-label={words.label}
          aria-describedby={sought ? hint : undefined}
          placeholder={words.label}
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            box.field.onKeyDown(event);
            if (event.key !== 'Escape' || !text) return;
            event.preventDefault();
            event.stopPropagation();
            setText('');
          }}
        />
        {text && (
          <button type="button" className="icon-button" aria-label={words.clear} onClick={() => setText('')}>
            <Cross />
          </button>
        )}
      </search>
      {sought === '' ? (
        children
      ) : (
        <div className="thread-list">
          <p className="column-note small muted" id={hint} role="status">
            {said(search)}
          </p>
          {search.failure !== undefined && (
            <div className="notice warn" role="alert">
              {words.failed} {describe(search.failure)}
              <button type="button" className="text-button" onClick={search.retry}>
                {strings.retry}
              </button>
            </div>
          )}
          <div {...box.list} role="listbox" aria-label={words.results} className="hits">
            {search.hits.map((hit, index) => (
              <div key={hit.message_id} className="hit" {...box.option(index)}>
                <HitLines hit={hit} />
              </div>
            ))}
            {search.hasMore && (
              <div className="hit" {...box.option(search.hits.length)}>
                {words.more}
              </div>
            )}
          </div>
        </div>
      )}
    </>
  );
}

function said(search: Search): string {
  if (!search.isLoaded) return words.looking;
  if (search.failure !== undefined && search.hits.length === 0) return '';
  return search.hits.length === 0 ? words.none : words.found(search.hits.length, search.hasMore);
}

function HitLines({ hit }: { hit: Hit }) {
  return (
    <>
      <span className="hit-head">
        <span className="thread-name">{titleOf(hit.thread)}</span>
        <time className="muted" dateTime={hit.at} title={new Date(hit.at).toLocaleString()}>
          {ago(hit.at)}
        </time>
      </span>
      <span className="hit-snippet muted">
        <Marked text={hit.snippet} marks={hit.marks} />
      </span>
    </>
  );
}

/** Text with the found words marked. */
export function Marked({ text, marks }: { text: string; marks: [number, number][] }) {
  let end = 0;
  const pieces: ReactNode[] = [];
  for (const [from, to] of marks) {
    pieces.push(text.slice(end, from), <mark key={from}>{text.slice(from, to)}</mark>);
    end = to;
  }
  return (
    <>
      {pieces}
      {text.slice(end)}
    </>
  );
}
