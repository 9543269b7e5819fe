/** Whether the workbench of a thread is open, and how wide: remembered by this browser, for each thread. */
import { useCallback, useState, useSyncExternalStore } from 'react';

export interface Bench {
  isOpen: boolean;
  /** In CSS px. */
  width: number;
}

const KEY = 'retinue.workbench';
/** Threads whose workbench is remembered. */
const MOST = 100;
export const LEAST_WIDTH = 280;
export const MOST_WIDTH = 720;
const CLOSED: Bench = { isOpen: false, width: 360 };

/** Here the workbench lies over the thread, as in workbench.css. */
const narrow = matchMedia('(max-width: 1100px)');

export function useIsNarrow(): boolean {
  return useSyncExternalStore(onNarrow, () => narrow.matches);
}

function onNarrow(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

export function useBench(thread: string): { bench: Bench; change: (change: Partial<Bench>) => void } {
  const [bench, setBench] = useState<Bench>(() => {
    const kept = read()[thread] ?? CLOSED;
    // Where it lies over the thread, nobody comes to a thread to see it first.
    return narrow.matches ? { ...kept, isOpen: false } : kept;
  });
  const change = useCallback(
    (change: Partial<Bench>) =>
      setBench((now) => {
        const next = { ...now, ...change };
        const width = Math.round(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, next.width)));
        keep(thread, { ...next, width });
        return { ...next, width };
      }),
    [thread],
  );
  return { bench, change };
}

function read(): Record<string, Bench> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return value && typeof value === 'object' ? (value as Record<string, Bench>) : {};
  } catch {
    return {}; // storage that is off or not ours remembers nothing
  }
}

/** The thread that was changed last stands last. */
function keep(thread: string, bench: Bench): void {
  const { [thread]: _, ...others } = read();
  const all = [...Object.entries(others), [thread, bench] as const].slice(-MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(all)));
  } catch {
    // As above.
  }
}
