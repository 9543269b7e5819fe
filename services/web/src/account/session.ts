/** Who is signed in: one store for the page, told by every request that meets a 401, and by the other tabs. */
import { useSyncExternalStore } from 'react';
import { api, whenSignedOut } from '../api/client';
import { describe } from '../api/failure';
import type { User } from '../api/types';
import { announce, listen } from '../shell/tabs';

export type Session =
  | { status: 'loading' }
  /** `isNew`: they signed in just now, in this tab. */
  | { status: 'in'; user: User; isNew: boolean }
  | { status: 'out'; isExpired: boolean }
  | { status: 'unreachable'; words: string; reload: () => void };

let session: Session = { status: 'loading' };
let hasBegun = false;
const listeners = new Set<() => void>();

function set(next: Session): void {
  session = next;
  for (const listener of listeners) listener();
}

/** Asks who is signed in, and tells the page if that is another. */
export async function checkSession(): Promise<void> {
  try {
    // Asked so that somebody who is not signed in meets no refusal, which browsers would note as an error.
    const { user } = await api.config();
    if (!user) set({ status: 'out', isExpired: session.status === 'in' });
    else if (session.status !== 'in' || session.user.id !== user.id) set({ status: 'in', user, isNew: false });
  } catch (failure) {
    if (session.status !== 'in')
      set({ status: 'unreachable', words: describe(failure), reload: () => void checkSession() });
  }
}

function begin(): void {
  if (hasBegun) return;
  hasBegun = true;
  whenSignedOut(() => {
    if (session.status === 'in') set({ status: 'out', isExpired: true });
  });
  listen((message) => {
    if (message.kind === 'account') void checkSession();
  });
  void checkSession();
}

export function signedIn(user: User): void {
  set({ status: 'in', user, isNew: true });
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
