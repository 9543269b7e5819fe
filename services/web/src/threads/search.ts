/** Searching all that was said: asked a moment after the last key, in pages. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { api } from '../api/client';
import type { SearchHit } from '../api/shapes';

export type Hit = SearchHit;

export interface Search {
  hits: Hit[];
  isLoaded: boolean;
  failure: unknown;
  hasMore: boolean;
  loadMore: () => void;
  retry: () => void;
}

/** In ms. */
const AFTER_LAST_KEY = 150;
const NOTHING = {
  hits: [] as Hit[],
  cursor: null as string | null,
  isLoaded: false,
  failure: undefined as unknown,
};

export function useSearch(words: string): Search {
  const [found, setFound] = useState(NOTHING);
  /** An answer to older words is not shown. */
  const asked = useRef(0);

  const load = useCallback(
    async (cursor: string | null) => {
      asked.current += 1;
      const number = asked.current;
      try {
        const page = await api.searchThreads(words, cursor);
        if (number !== asked.current) return;
        setFound((before) => ({
          hits: cursor ? [...before.hits, ...page.items] : page.items,
          cursor: page.next_cursor ?? null,
          isLoaded: true,
          failure: undefined,
        }));
      } catch (failure) {
        if (number === asked.current) setFound((before) => ({ ...before, isLoaded: true, failure }));
      }
    },
    [words],
  );

  useEffect(() => {
    asked.current += 1;
    if (!words) {
      setFound(NOTHING);
      return undefined;
    }
    const timer = setTimeout(() => void load(null), AFTER_LAST_KEY);
    return () => clearTimeout(timer);
  }, [words, load]);

  return {
    hits: found.hits,
    isLoaded: found.isLoaded,
    failure: found.failure,
    hasMore: found.cursor !== null,
    loadMore: () => void load(found.cursor),
    retry: () => void load(null),
  };
}
