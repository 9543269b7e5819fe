/** Hints between the tabs of one browser: something changed, look again. Never data. */

export type TabMessage = { kind: 'account' } | { kind: 'thread'; thread: string } | { kind: 'threads' };

const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('retinue');

export function announce(message: TabMessage): void {
  channel?.postMessage(message);
}

export function listen(listener: (message: TabMessage) => void): () => void {
  const receive = (event: MessageEvent<TabMessage>) => listener(event.data);
  channel?.addEventListener('message', receive);
  return () => channel?.removeEventListener('message', receive);
}
