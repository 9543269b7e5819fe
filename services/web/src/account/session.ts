/** Who is signed in: one store for the page, told by every request that meets a 401, and by the other tabs. */
import { useSyncExternalStore } from 'react';
import { api, whenSignedOut } from '../api/client';
import { ApiError, describe } from '../api/failure';
import type { User } from '../api/types';
import { announce, listen } from '../shell/tabs';

export type Session =
  | { status: 'loading' }
  | { status: 'in'; user: User }
  | { status: 'out'; isExpired: boolean }
  | { status: 'unreachable'; words: string; reload: () => void };

let session: Session = { status: 'loading' };
let hasBegun = false;
const listeners = new Set<() => void>();

function set(next: Session): void {
  session = next;
  for (const listener of listeners) listener();
}

async function load(): Promise<void> {
  try {
    const { user } = await api.me();
    if (session.status !== 'in' || session.user.id !== user.id) set({ status: 'in', user });
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 401)
      set({ status: 'out', isExpired: session.status === 'in' });
    else if (session.status !== 'in')
      set({ status: 'unreachable', words: describe(failure), reload: () => void load() });
  }
}

function begin(): void {
  if (hasBegun) return;
  hasBegun = true;
  whenSignedOut(() => {
    if (session.status === 'in') set({ status: 'out', isExpired: true });
  });
  listen((message) => {
    if (message.kind === 'account') void load();
  });
  void load();
}

export function signedIn(user: User): void {
  set({ status: 'in', user });
  announce({ kind: 'account' });
}

export async function logOut(): Promise<void> {
  await api.logout();
  set({ status: 'out', isExpired: false });
  announce({ kind: 'account' });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  begin();
  return () => listeners.delete(listener);
}

export function useSession(): Session {
  return useSyncExternalStore(subscribe, () => session);
}
