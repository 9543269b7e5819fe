/** Hints from the server that something changed: `/api/events`, read by one tab of the browser for all of them.
 *
 * A hint says where to look again and never what is there. Every connection begins with `sync`: whatever was shown
 * before may be old. A browser allows few connections to one host, so the tab that holds the lock reads, and tells the
 * others; when it goes, the next one takes over.
 */
import { checkSession } from '../account/session';
import { makeBackoff } from '../transport/backoff';

export type Hint =
  | { kind: 'sync' }
  | { kind: 'turn'; thread_id: string; turn_id: string; status: string }
  | { kind: 'thread'; thread_id: string }
  | { kind: 'agents' }
  | { kind: 'settings' };

const PATH = '/api/events';
const KINDS = ['sync', 'turn', 'thread', 'agents', 'settings'] as const;
/** In ms; a connection that lasted so long was a good one. */
const GOOD_AFTER = 10_000;

const listeners = new Set<(hint: Hint) => void>();
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('retinue-hints');
const backoff = makeBackoff({ first: 500, most: 30_000 });

function tell(hint: Hint): void {
  for (const listener of listeners) listener(hint);
}

function share(hint: Hint): void {
  tell(hint);
  channel?.postMessage(hint);
}

export function onHint(listener: (hint: Hint) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads while somebody is signed in; the returned function ends it. */
export function readHints(): () => void {
  const control = new AbortController();
  const receive = (event: MessageEvent<Hint>) => tell(event.data);
  channel?.addEventListener('message', receive);
  const done = (failure: unknown) => {
    if (!control.signal.aborted) throw failure;
  };
  // Locks are missing on plain http beyond loopback: there every tab reads for itself.
  if (channel && navigator.locks)
    navigator.locks.request('retinue-hints', { signal: control.signal }, () => readFor(control.signal)).catch(done);
  else readFor(control.signal).catch(done);
  return () => {
    channel?.removeEventListener('message', receive);
    control.abort();
  };
}

async function readFor(signal: AbortSignal): Promise<void> {
  let attempt = 0;
  while (!signal.aborted) {
    const begun = Date.now();
    const wasOpen = await connection(signal);
    if (signal.aborted) return;
    // A refusal looks like a broken line here: whether the session is over is asked where it can be said.
    if (!wasOpen) await checkSession();
    attempt = Date.now() - begun > GOOD_AFTER ? 0 : attempt + 1;
    await backoff.wait(attempt, signal).catch(() => undefined); // aborted: the loop ends by itself
  }
}

/** One connection, until it breaks; whether there was one at all. The browser's own way of connecting again knows neither pauses nor an end. */
function connection(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const source = new EventSource(PATH);
    let wasOpen = false;
    source.addEventListener('open', () => {
      wasOpen = true;
    });
    const close = () => {
      source.close();
      signal.removeEventListener('abort', close);
      resolve(wasOpen);
    };
    source.addEventListener('error', close);
    signal.addEventListener('abort', close);
    for (const kind of KINDS)
      source.addEventListener(kind, (event: MessageEvent<string>) => share({ ...fields(event.data), kind } as Hint));
  });
}

function fields(data: string): object {
  return data ? (JSON.parse(data) as object) : {};
}
