/** The list of threads: loaded once, looked at again when something may have changed. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Thread } from '../api/types';
import { type Hint, onHint } from '../shell/hints';
import { announce, listen } from '../shell/tabs';

export interface ThreadsState {
  items: Thread[];
  cursor: string | null;
  isLoaded: boolean;
  failure: string | undefined;
}

const EMPTY: ThreadsState = { items: [], cursor: null, isLoaded: false, failure: undefined };
/** Hints come in bursts (a turn is accepted, starts, ends): so long is waited for the rest of one. In ms. */
const BURST = 100;
const ACTIVE = ['waiting', 'queued', 'running'] as const;

let state = EMPTY;
let users = 0;
const hidden = new Set<string>();
/** New titles that an answer on its way may not know yet. */
const renamed = new Map<string, string>();
/** Answers may overtake each other: the number of the last question, and of the one whose answer is shown. */
let asked = 0;
let shown = 0;
const listeners = new Set<() => void>();

function set(change: Partial<ThreadsState>): void {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

export async function refreshThreads(): Promise<void> {
  asked += 1;
  const number = asked;
  try {
    const page = await api.threads();
    if (number < shown) return;
    shown = number;
    const known = new Set(page.items.map((thread) => thread.id));
    const last = page.items.at(-1);
    // Older pages that were already shown stay; what should be on the newest page and is not there is gone.
    const older =
      last && page.next_cursor
        ? state.items.filter((item) => !known.has(item.id) && item.touched_at < last.touched_at)
        : [];
    const cursor = older.length > 0 ? state.cursor : page.next_cursor;
    const items = [...page.items, ...older].filter((thread) => !hidden.has(thread.id)).map(withNewTitle);
    set({ items, cursor, isLoaded: true, failure: undefined });
  } catch (failure) {
    if (!state.isLoaded) set({ failure: describe(failure) });
  }
}

export async function loadOlderThreads(): Promise<void> {
  if (!state.cursor) return;
  try {
    const page = await api.threads(state.cursor);
    const known = new Set(state.items.map((thread) => thread.id));
    const fresh = page.items.filter((thread) => !known.has(thread.id) && !hidden.has(thread.id));
    set({ items: [...state.items, ...fresh], cursor: page.next_cursor });
  } catch (failure) {
    set({ failure: describe(failure) });
  }
}

/** Takes a thread out of the list while that can still be undone; returns how to put it back. */
export function hideThread(thread: string): () => void {
  hidden.add(thread);
  set({ items: state.items.filter((item) => item.id !== thread) });
  return () => {
    hidden.delete(thread);
    void refreshThreads();
  };
}

export async function renameThread(thread: string, title: string): Promise<void> {
  renamed.set(thread, title);
  set({ items: state.items.map(withNewTitle) });
  try {
    await api.renameThread(thread, title);
  } catch (failure) {
    renamed.delete(thread);
    void refreshThreads();
    throw failure;
  }
  announce({ kind: 'threads' });
  // Whatever is asked from here on has the title that counts.
  await refreshThreads();
  if (renamed.get(thread) === title) renamed.delete(thread);
}

function withNewTitle(thread: Thread): Thread {
  return { ...thread, title: renamed.get(thread.id) ?? thread.title };
}

let isSoon = false;

function refreshSoon(): void {
  if (isSoon) return;
  isSoon = true;
  setTimeout(() => {
    isSoon = false;
    void refreshThreads();
  }, BURST);
}

/** A mark is shown at once; what else has changed is asked for. */
function take(hint: Hint): void {
  if (hint.kind === 'agents' || hint.kind === 'settings') return;
  const status = hint.kind === 'turn' && ACTIVE.find((active) => active === hint.status);
  if (hint.kind === 'turn' && status)
    set({ items: state.items.map((item) => (item.id === hint.thread_id ? { ...item, status } : item)) });
  refreshSoon();
}

function begin(): () => void {
  users += 1;
  if (users === 1) {
    state = EMPTY;
    hidden.clear();
  }
  void refreshThreads();
  const look = () => {
    if (document.visibilityState === 'visible') void refreshThreads();
  };
  const unhint = onHint(take);
  const unlisten = listen((message) => {
    if (message.kind !== 'account') refreshSoon();
  });
  document.addEventListener('visibilitychange', look);
  window.addEventListener('online', look);
  return () => {
    users -= 1;
    unhint();
    unlisten();
    document.removeEventListener('visibilitychange', look);
    window.removeEventListener('online', look);
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useThreads(): ThreadsState {
  useEffect(begin, []);
  return useSyncExternalStore(subscribe, () => state);
}

export function listedThread(thread: string): Thread | undefined {
  return state.items.find((item) => item.id === thread);
}

/** One thread of the list, for whoever wants to know when it changed. */
export function useListedThread(thread: string): Thread | undefined {
  return useSyncExternalStore(subscribe, () => listedThread(thread));
}

/** A thread by its id, also one that is too old for the part of the list that is loaded. */
export function useThread(id: string | undefined): Thread | undefined {
  const listed = useListedThread(id ?? '');
  const [other, setOther] = useState<Thread>();
  const isMissing = useSyncExternalStore(subscribe, () => state.isLoaded) && id !== undefined && !listed;
  useEffect(() => {
    // That it is not there at all is for the page of the thread to say.
    if (isMissing) api.thread(id).then(setOther, () => setOther(undefined));
  }, [id, isMissing]);
  return listed ?? (other?.id === id ? other : undefined);
}
