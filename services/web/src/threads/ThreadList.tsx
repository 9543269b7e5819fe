/** The left column's list: by age, with what each thread is doing, rename and delete. */
import { useEffect, useRef, useState } from 'react';
import { useAgents } from '../agents/agents';
import { describe } from '../api/failure';
import type { Thread } from '../api/types';
import { archivePath, threadPath } from '../router';
import { Glyph } from '../shell/Glyph';
import { Dots } from '../shell/icons';
import { Link } from '../shell/Link';
import { Menu } from '../shell/Menu';
import { exact } from '../shell/time';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { groupThreads } from './groups';
import { putAway, titleOf } from './putAway';
import { loadOlderThreads, refreshThreads, renameThread, type ThreadsState } from './threads';

const words = strings.threads;

interface ThreadListProps {
  threads: ThreadsState;
  current: string | undefined;
  /** A thread was chosen, be it the one that is shown already. */
  onChoose: () => void;
  onToast: (toast: Toast) => void;
}

export function ThreadList({ threads, current, onChoose, onToast }: ThreadListProps) {
  const { items: agents } = useAgents();
  if (!threads.isLoaded && threads.failure) {
    return (
      <div className="notice warn" role="alert">
        {words.failed} {threads.failure}
        <button type="button" className="text-button" onClick={() => void refreshThreads()}>
          {strings.retry}
        </button>
      </div>
    );
  }
  if (!threads.isLoaded) return <ListSkeleton />;
  // With one agent its sign would say nothing.
  const signs = agents.length > 1 ? new Map(agents.map((agent) => [agent.id, agent.glyph || agent.id])) : undefined;
  return (
    <>
      {threads.items.length === 0 && <p className="column-note small muted">{words.empty}</p>}
      {groupThreads(threads.items).map((group) => (
        <section key={group.key} aria-label={group.label}>
          <h2>{group.label}</h2>
          <ul>
            {group.threads.map((thread) => (
              <ThreadRow
                key={thread.id}
                thread={thread}
                sign={signs?.get(thread.agent_id)}
                isCurrent={thread.id === current}
                onChoose={onChoose}
                onToast={onToast}
              />
            ))}
          </ul>
        </section>
      ))}
      {threads.cursor && (
        <button type="button" className="text-button small column-note" onClick={() => void loadOlderThreads()}>
          {words.more}
        </button>
      )}
      <Link to={archivePath} onFollow={onChoose} className="column-note column-link small muted">
        {words.archive}
      </Link>
    </>
  );
}

function ListSkeleton() {
  return (
    <div className="column-skeleton" aria-busy="true">
      {['first', 'second', 'third', 'fourth'].map((key) => (
        <div className="skeleton" key={key} />
      ))}
    </div>
  );
}

function ThreadRow({
  thread,
  sign,
  isCurrent,
  onChoose,
  onToast,
}: {
  thread: Thread;
  /** The seed of its agent's glyph, if that tells it from others. */
  sign: string | undefined;
  isCurrent: boolean;
  onChoose: () => void;
  onToast: (toast: Toast) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [isRenaming, setRenaming] = useState(false);
  const actions = useRef<HTMLButtonElement>(null);
  const wasByKey = useRef(false);
  const title = titleOf(thread);
  const fail = (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) });

  useEffect(() => {
    // Who renames by keyboard goes on from where they were.
    if (!isRenaming && wasByKey.current) actions.current?.focus();
    wasByKey.current = false;
  }, [isRenaming]);

  if (isRenaming) {
    const save = (name: string, isByKey: boolean) => {
      setRenaming(false);
      wasByKey.current = isByKey;
      if (name && name !== thread.title) renameThread(thread.id, name).catch(fail);
    };
    return (
      <li className="thread-row">
        <RenameField value={thread.title ?? ''} onSave={save} />
      </li>
    );
  }
  return (
    <li className={isCurrent ? 'thread-row menu-anchor is-current' : 'thread-row menu-anchor'}>
      <Link
        className="thread-link"
        to={threadPath(thread.id)}
        aria-current={isCurrent ? 'page' : undefined}
        title={exact(thread.touched_at)}
        onFollow={onChoose}
      >
        {sign && <Glyph seed={sign} size={16} />}
        <span className="thread-name">{title}</span>
        {thread.status && <span className={`thread-state is-${thread.status}`}>{words.status[thread.status]}</span>}
      </Link>
      <button
        type="button"
        ref={actions}
        className="icon-button"
        aria-label={words.actions(title)}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Dots />
      </button>
      {isOpen && (
        <Menu
          className="below"
          label={words.actions(title)}
          onClose={() => setOpen(false)}
          items={[
            { label: words.rename, act: () => setRenaming(true) },
            { label: words.putAway, act: () => void putAway(thread, 'archived', isCurrent, onToast) },
            { label: words.delete, act: () => void putAway(thread, 'deleted', isCurrent, onToast) },
          ]}
        />
      )}
    </li>
  );
}

function RenameField({ value, onSave }: { value: string; onSave: (name: string, isByKey: boolean) => void }) {
  const isByKey = useRef(false);
  return (
    <input
      className="thread-rename"
      aria-label={words.nameLabel}
      defaultValue={value}
      maxLength={200}
      // biome-ignore lint/a11y/noAutofocus: the field appears because the person asked to type here
      autoFocus
      onFocus={(event) => event.currentTarget.select()}
      onBlur={(event) => onSave(event.currentTarget.value.trim(), isByKey.current)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        if (event.key === 'Escape') event.currentTarget.value = value;
        isByKey.current = true;
        event.currentTarget.blur();
      }}
    />
  );
}
