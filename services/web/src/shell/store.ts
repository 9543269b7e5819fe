/** Something of the server's that several parts of the page show: loaded once, looked at again after a hint. */
import { useEffect, useSyncExternalStore } from 'react';
import { type Hint, onHint } from './hints';

export interface Stored<Value> {
  value: Value | undefined;
  failure: unknown;
}

export interface Store<Value> {
  /** Loads it when it is first shown. */
  useValue: () => Stored<Value>;
  refresh: () => Promise<void>;
  /** Shows a change at once, before the server was asked again. */
  change: (change: (before: Value) => Value) => void;
}

export function makeStore<Value>(load: () => Promise<Value>, concerns: (hint: Hint) => boolean): Store<Value> {
  const nothing: Stored<Value> = { value: undefined, failure: undefined };
  let state = nothing;
  let users = 0;
  /** Answers may overtake each other: only the one to the newest question is shown. */
  let asked = 0;
  const listeners = new Set<() => void>();

  function set(next: Stored<Value>): void {
    state = next;
    for (const listener of listeners) listener();
  }

  async function refresh(): Promise<void> {
    asked += 1;
    const number = asked;
    try {
      const value = await load();
      if (number === asked) set({ value, failure: undefined });
    } catch (failure) {
      if (number === asked) set({ value: state.value, failure });
    }
  }

  function begin(): () => void {
    users += 1;
    if (users === 1) void refresh();
    const unlisten = onHint((hint) => {
      if (hint.kind === 'sync' || concerns(hint)) void refresh();
    });
    return () => {
      users -= 1;
      unlisten();
      if (users === 0) state = nothing; // who looks next may be somebody else
    };
  }

  function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return {
    useValue() {
      // biome-ignore lint/correctness/useExhaustiveDependencies: all of it belongs to this one store
      useEffect(begin, []);
      return useSyncExternalStore(subscribe, () => state);
    },
    refresh,
    change(change) {
      if (state.value !== undefined) set({ value: change(state.value), failure: undefined });
    },
  };
}
