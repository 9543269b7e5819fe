/** The left column's list: by age, with what each thread is doing, rename and delete. */
import { type MouseEvent, useEffect, useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Thread } from '../api/types';
import { navigate, threadPath } from '../router';
import { Dots } from '../shell/icons';
import { Menu } from '../shell/Menu';
import { announce } from '../shell/tabs';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { groupThreads } from './groups';
import { hideThread, loadOlderThreads, refreshThreads, renameThread, type ThreadsState } from './threads';

const words = strings.threads;

interface ThreadListProps {
  threads: ThreadsState;
  current: string | undefined;
  /** A thread was chosen, be it the one that is shown already. */
  onChoose: () => void;
  onToast: (toast: Toast) => void;
}

export function ThreadList({ threads, current, onChoose, onToast }: ThreadListProps) {
  if (!threads.isLoaded && threads.failure) {
    return (
      <div className="thread-list">
        <div className="notice warn" role="alert">
          {words.failed} {threads.failure}
          <button type="button" className="text-button" onClick={() => void refreshThreads()}>
            {strings.retry}
          </button>
        </div>
      </div>
    );
  }
  if (!threads.isLoaded) return <ListSkeleton />;
  return (
    <div className="thread-list">
      {threads.items.length === 0 && <p className="column-note small muted">{words.empty}</p>}
      {groupThreads(threads.items).map((group) => (
        <section key={group.key} aria-label={group.label}>
          <h2>{group.label}</h2>
          <ul>
            {group.threads.map((thread) => (
              <ThreadRow
                key={thread.id}
                thread={thread}
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
    </div>
  );
}

function ListSkeleton() {
  return (
    <div className="thread-list column-skeleton" aria-busy="true">
      {['first', 'second', 'third', 'fourth'].map((key) => (
        <div className="skeleton" key={key} />
      ))}
    </div>
  );
}

function ThreadRow({
  thread,
  isCurrent,
  onChoose,
  onToast,
}: {
  thread: Thread;
  isCurrent: boolean;
  onChoose: () => void;
  onToast: (toast: Toast) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [isRenaming, setRenaming] = useState(false);
  const actions = useRef<HTMLButtonElement>(null);
  const wasByKey = useRef(false);
  const title = thread.title ?? thread.preview ?? words.untitled;
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
      <a
        className="thread-link"
        href={threadPath(thread.id)}
        aria-current={isCurrent ? 'page' : undefined}
        title={new Date(thread.touched_at).toLocaleString()}
        onClick={(event) => {
          if (follow(event, threadPath(thread.id))) onChoose();
        }}
      >
        <span className="thread-name">{title}</span>
        {thread.status && (
          <span className={thread.status === 'failed' ? 'thread-state is-failed' : 'thread-state'}>
            {words.status[thread.status]}
          </span>
        )}
      </a>
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
            { label: words.delete, act: () => void removeThread(thread, title, isCurrent, onToast) },
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

/** Puts the thread away; for ten seconds one click brings it back. */
async function removeThread(thread: Thread, title: string, isCurrent: boolean, onToast: (toast: Toast) => void) {
  const fail = (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) });
  const putBack = hideThread(thread.id);
  if (isCurrent) navigate('/');
  try {
    await api.deleteThread(thread.id);
  } catch (failure) {
    putBack();
    return fail(failure);
  }
  announce({ kind: 'threads' });
  const undo = () => {
    api.bringBack(thread.id).then(() => {
      putBack();
      announce({ kind: 'threads' });
    }, fail);
  };
  onToast({ words: words.deleted(title), action: { label: words.undo, act: undo } });
}

function follow(event: MouseEvent, path: string): boolean {
  // A click with a modifier opens a tab or a window, as everywhere.
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return false;
  event.preventDefault();
  navigate(path);
  return true;
}
