/** Looking at a far part of a thread, as a search found it, without reading everything that lies between. */
import type { UIMessage } from 'ai';
import { startTransition, useCallback, useRef, useState } from 'react';
import { api } from '../api/client';
import type { MessagePage } from '../api/types';

export interface Excerpt {
  items: UIMessage[];
  older: string | null;
  newer: string | null;
}

export interface LookBack {
  excerpt: Excerpt | undefined;
  /** Reads what is around a message; false if it is not in this thread. */
  show: (message: string) => Promise<boolean>;
  loadOlder: () => Promise<void>;
  loadNewer: () => Promise<void>;
  leave: () => void;
}

/** `onWhole` gets the excerpt when it has grown up to the newest message. */
export function useLookBack(thread: string, onWhole: (items: UIMessage[], older: string | null) => void): LookBack {
  const [excerpt, setExcerpt] = useState<Excerpt>();
  const current = useRef<Excerpt>(undefined);
  current.current = excerpt;
  const isLoading = useRef(false);

  const take = useCallback(
    (next: Excerpt) => {
      if (next.newer !== null) {
        startTransition(() => setExcerpt(next));
        return;
      }
      onWhole(next.items, next.older);
      setExcerpt(undefined);
    },
    [onWhole],
  );

  const show = useCallback(
    async (message: string) => {
      const page = await api.messagesAround(thread, message);
      if (!page.items.some((item) => item.id === message)) return false;
      take({ items: page.items, older: page.next_cursor, newer: newerOf(page) });
      return true;
    },
    [thread, take],
  );

  /** One page at a time, and only for what is still looked at. */
  const load = useCallback(
    async (read: (now: Excerpt) => Promise<Excerpt> | undefined) => {
      const now = current.current;
      const reading = now && !isLoading.current ? read(now) : undefined;
      if (!reading) return;
      isLoading.current = true;
      try {
        const next = await reading;
        if (current.current === now) take(next);
      } finally {
        isLoading.current = false;
      }
    },
    [take],
  );

  const loadOlder = useCallback(
    () =>
      load(({ items, older, newer }) =>
        older === null
          ? undefined
          : api.messages(thread, older).then((page) => ({
              items: [...page.items, ...items],
              older: page.next_cursor,
              newer,
            })),
      ),
    [load, thread],
  );
  const loadNewer = useCallback(
    () =>
      load(({ items, older, newer }) =>
        newer === null
          ? undefined
          : api.laterMessages(thread, newer).then((page) => ({
              items: [...items, ...page.items],
              older,
              newer: newerOf(page),
            })),
      ),
    [load, thread],
  );
  const leave = useCallback(() => setExcerpt(undefined), []);
  return { excerpt, show, loadOlder, loadNewer, leave };
}

function newerOf(page: MessagePage): string | null {
  return (page as MessagePage & { newer_cursor?: string | null }).newer_cursor ?? null;
}
