/** Waiting between attempts: exponential with full jitter, cut short when the network comes back. */

export interface Backoff {
  /** Resolves after the pause for this attempt (0 = the first retry), early when the network comes back. Rejects with
   * the signal's reason when aborted. `floor` is the least time in ms, for a server that said when to come again. */
  wait(attempt: number, signal: AbortSignal, floor?: number): Promise<void>;
}

export function makeBackoff({ first = 200, most = 8000, random = Math.random } = {}): Backoff {
  return {
    wait(attempt, signal, floor = 0) {
      const ceiling = Math.min(most, first * 2 ** attempt);
      return pause(Math.max(floor, 50 + random() * ceiling), signal);
    },
  };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const events = typeof window === 'undefined' ? undefined : window;
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      events?.removeEventListener('online', wake);
      signal.removeEventListener('abort', abort);
      settle();
    };
    const wake = () => finish(resolve);
    const abort = () => finish(() => reject(signal.reason));
    const timer = setTimeout(wake, milliseconds);
    events?.addEventListener('online', wake);
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
}
