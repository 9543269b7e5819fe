/** One URL for everything that can be looked at; plain history, no library. */
import { useSyncExternalStore } from 'react';

export type Route =
  | { page: 'new' }
  | { page: 'thread'; thread: string }
  | { page: 'dead-letters' }
  | { page: 'sign-in'; next: string; invite: string }
  | { page: 'missing' };

export function parseRoute(pathname: string, search: string): Route {
  if (pathname === '/' || pathname === '') return { page: 'new' };
  const thread = /^\/t\/([^/]+)\/?$/.exec(pathname);
  if (thread?.[1]) return threadRoute(thread[1]);
  if (/^\/admin\/dead-letters\/?$/.test(pathname)) return { page: 'dead-letters' };
  if (pathname === '/sign-in' || pathname === '/register') {
    const query = new URLSearchParams(search);
    return { page: 'sign-in', next: safeNext(query.get('next')), invite: query.get('invite') ?? '' };
  }
  return { page: 'missing' };
}

function threadRoute(segment: string): Route {
  try {
    return { page: 'thread', thread: decodeURIComponent(segment) };
  } catch {
    return { page: 'missing' }; // `/t/%ff` spells nothing
  }
}

/** Only ways inside this page: `//elsewhere` and full addresses would lead a person off after signing in. */
function safeNext(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in') ? next : '/';
}

export const threadPath = (thread: string) => `/t/${encodeURIComponent(thread)}`;
export const deadLettersPath = '/admin/dead-letters';
export const signInPath = (next: string) => (next === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`);
export const currentPath = () => location.pathname + location.search;

const listeners = new Set<() => void>();

export function navigate(path: string, { replace = false } = {}): void {
  if (path === currentPath()) return;
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

export function useRoute(): Route {
  const path = useSyncExternalStore(subscribe, currentPath);
  const [pathname = '/', search = ''] = path.split(/(?=\?)/);
  return parseRoute(pathname, search);
}
