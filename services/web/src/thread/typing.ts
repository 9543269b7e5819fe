/** The text that is being written, and its draft: kept at once while it is short, in the pauses when it is long. */
import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from 'react';
import { type Draft, readDraft, writeDraft } from './drafts';

/** Writing a longer text to the browser's storage at every key would be felt. In characters. */
export const LONG = 20_000;
/** In ms. */
const PAUSE = 400;

export interface Typing {
  draft: Draft;
  /** Shows and keeps a text. */
  put: (next: Draft | ((now: Draft) => Draft)) => void;
  /** Shows a text without keeping it. */
  show: Dispatch<SetStateAction<Draft>>;
  /** Keeps a text at once, without showing it. */
  keepNow: (next: Draft) => void;
}

export function useTyping(user: string, thread: string, isOnItsWay: boolean): Typing {
  const [draft, setDraft] = useState<Draft>(() => (isOnItsWay ? { text: '' } : readDraft(user, thread)));
  const unkept = useRef<{ draft: Draft; timer: ReturnType<typeof setTimeout> }>(undefined);

  function keep(next: Draft) {
    if (next.text.length <= LONG) {
      keepNow(next);
      return;
    }
    clearTimeout(unkept.current?.timer);
    unkept.current = { draft: next, timer: setTimeout(flush, PAUSE) };
  }

  function keepNow(next: Draft) {
    clearTimeout(unkept.current?.timer);
    unkept.current = undefined;
    writeDraft(user, thread, next);
  }

  function flush() {
    if (unkept.current) keepNow(unkept.current.draft);
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: the page may go at any moment; what waits is in a ref
  useEffect(() => {
    window.addEventListener('pagehide', flush);
    return () => {
      window.removeEventListener('pagehide', flush);
      flush();
    };
  }, [user, thread]);

  function put(next: Draft | ((now: Draft) => Draft)) {
    if (typeof next !== 'function') {
      keep(next);
      setDraft(next);
      return;
    }
    setDraft((now) => {
      const value = next(now);
      keep(value);
      return value;
    });
  }

  return { draft, put, show: setDraft, keepNow };
}
