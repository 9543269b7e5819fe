/** The dead letters that are shown: loaded in pages, changed by what an administrator decides. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { DeadLetter, DeadLetterState } from '../api/types';

export interface DeadLetters {
  items: DeadLetter[];
  hasMore: boolean;
  isLoaded: boolean;
  failure: string | undefined;
  reload: () => void;
  loadMore: () => void;
  replace: (letter: DeadLetter) => void;
  remove: (id: string) => void;
}

interface Loaded {
  items: DeadLetter[];
  cursor: string | null;
  isLoaded: boolean;
  failure: string | undefined;
}

const NOTHING: Loaded = { items: [], cursor: null, isLoaded: false, failure: undefined };

export function useDeadLetters(state: DeadLetterState | undefined): DeadLetters {
  const [loaded, setLoaded] = useState(NOTHING);
  /** An answer to an older question is not shown. */
  const asked = useRef(0);

  const load = useCallback(
    async (cursor: string | null) => {
      asked.current += 1;
      const number = asked.current;
      try {
        const page = await api.deadLetters(state, cursor);
        if (number !== asked.current) return;
        setLoaded((before) => ({
          items: cursor ? [...before.items, ...page.items] : page.items,
          cursor: page.next_cursor,
          isLoaded: true,
          failure: undefined,
        }));
      } catch (failure) {
        if (number === asked.current) setLoaded((before) => ({ ...before, failure: describe(failure) }));
      }
    },
    [state],
  );

  useEffect(() => {
    setLoaded(NOTHING);
    void load(null);
    return () => {
      asked.current += 1;
    };
  }, [load]);

  const change = (items: (before: DeadLetter[]) => DeadLetter[]) =>
    setLoaded((before) => ({ ...before, items: items(before.items) }));
  return {
    items: loaded.items,
    hasMore: loaded.cursor !== null,
    isLoaded: loaded.isLoaded,
    failure: loaded.failure,
    reload: () => void load(null),
    loadMore: () => void load(loaded.cursor),
    replace: (letter) => change((items) => items.map((item) => (item.id === letter.id ? letter : item))),
    remove: (id) => change((items) => items.filter((item) => item.id !== id)),
  };
}
