/** Threads that were put away: read, brought back, deleted. */
import { useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Thread } from '../api/types';
import { threadPath } from '../router';
import { Link } from '../shell/Link';
import { Loaded, useLoad } from '../shell/load';
import { PageState } from '../shell/PageState';
import { announce } from '../shell/tabs';
import { ago, exact } from '../shell/time';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { putAway, titleOf } from './putAway';
import { refreshThreads } from './threads';

const words = strings.threads;

export function ArchivePage({ onToast }: { onToast: (toast: Toast) => void }) {
  const page = useLoad('archive', () => api.archivedThreads());
  const [isBusy, setBusy] = useState(false);
  const fail = (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) });
  const without = (thread: Thread) =>
    page.change((before) => ({ ...before, items: before.items.filter((item) => item.id !== thread.id) }));

  async function bringBack(thread: Thread) {
    without(thread);
    try {
      await api.archiveThread(thread.id, false);
      onToast({ words: words.restored(titleOf(thread)) });
      announce({ kind: 'threads' });
      void refreshThreads();
    } catch (failure) {
      page.reload();
      fail(failure);
    }
  }

  async function remove(thread: Thread) {
    without(thread);
    await putAway(thread, 'deleted', false, (toast) =>
      onToast({
        ...toast,
        action: toast.action && {
          ...toast.action,
          act: () => {
            toast.action?.act();
            page.change((before) => ({ ...before, items: [thread, ...before.items] }));
          },
        },
      }),
    );
  }

  async function loadMore(cursor: string) {
    setBusy(true);
    try {
      const more = await api.archivedThreads(cursor);
      page.change((before) => ({ ...more, items: [...before.items, ...more.items] }));
    } catch (failure) {
      fail(failure);
    } finally {
      setBusy(false);
    }
  }

  return (
    <div className="scroller">
      <div className="page">
        <Loaded of={page} onRetry={page.reload} failed={words.archiveFailed}>
          {({ items, next_cursor }) =>
            items.length === 0 ? (
              <PageState title={words.archive} hint={words.archiveEmpty} />
            ) : (
              <>
                <p className="muted">{words.archiveHint}</p>
                <ul className="rows" aria-label={words.archive}>
                  {items.map((thread) => (
                    <li className="row" key={thread.id}>
                      <Link className="row-name" to={threadPath(thread.id)}>
                        {titleOf(thread)}
                      </Link>
                      <time className="small muted" dateTime={thread.touched_at} title={exact(thread.touched_at)}>
                        {ago(thread.touched_at)}
                      </time>
                      <span className="row-actions">
                        <button type="button" className="button small" onClick={() => void bringBack(thread)}>
                          {words.bringBack}
                          <span className="visually-hidden">: {titleOf(thread)}</span>
                        </button>
                        <button type="button" className="button small" onClick={() => void remove(thread)}>
                          {words.delete}
                          <span className="visually-hidden">: {titleOf(thread)}</span>
                        </button>
                      </span>
                    </li>
                  ))}
                </ul>
                {next_cursor && (
                  <button type="button" className="button" disabled={isBusy} onClick={() => void loadMore(next_cursor)}>
                    {words.more}
                  </button>
                )}
              </>
            )
          }
        </Loaded>
      </div>
    </div>
  );
}
