/** One URL for everything that can be looked at; plain history, no library. */
import { useSyncExternalStore } from 'react';

export type Route =
  /** `agent`: whom the new thread is for; none: the default one. */
  | { page: 'new'; agent?: string }
  /** `message`: the one to show first, from a search. */
  | { page: 'thread'; thread: string; message?: string }
  | { page: 'agents' }
  | { page: 'agent-new' }
  | { page: 'agent'; agent: string }
  | { page: 'agent-sees'; agent: string }
  | { page: 'settings'; group: string }
  | { page: 'usage' }
  | { page: 'archive' }
  | { page: 'start' }
  | { page: 'dead-letters' }
  | { page: 'sign-in'; next: string; invite: string }
  | { page: 'missing' };

const PLAIN: Record<string, Route> = {
  agents: { page: 'agents' },
  'agents/new': { page: 'agent-new' },
  settings: { page: 'settings', group: '' },
  usage: { page: 'usage' },
  archive: { page: 'archive' },
  start: { page: 'start' },
  'admin/dead-letters': { page: 'dead-letters' },
};

export function parseRoute(pathname: string, search: string): Route {
  const query = new URLSearchParams(search);
  const way = segments(pathname);
  if (!way) return { page: 'missing' };
  const [first, second, third, ...rest] = way;
  if (first === undefined) return { page: 'new', agent: query.get('agent') ?? undefined };
  if (way.length === 1 && (first === 'sign-in' || first === 'register'))
    return { page: 'sign-in', next: safeNext(query.get('next')), invite: query.get('invite') ?? '' };
  const plain = PLAIN[way.join('/')];
  if (plain) return plain;
  if (!second || rest.length > 0) return { page: 'missing' };
  if (first === 't' && !third) return { page: 'thread', thread: second, message: query.get('m') ?? undefined };
  if (first === 'settings' && !third) return { page: 'settings', group: second };
  if (first === 'agents' && !third) return { page: 'agent', agent: second };
  if (first === 'agents' && third === 'sees') return { page: 'agent-sees', agent: second };
  return { page: 'missing' };
}

function segments(pathname: string): string[] | undefined {
  try {
    return pathname
      .replace(/^\/|\/$/g, '')
      .split('/')
      .filter((segment, index, all) => segment !== '' || all.length > 1 || index > 0)
      .map(decodeURIComponent);
  } catch {
    return undefined; // `/t/%ff` spells nothing
  }
}

/** Only ways inside this page: `//elsewhere` and full addresses would lead a person off after signing in. */
function safeNext(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in') ? next : '/';
}

const within = (folder: string, name: string) => `/${folder}/${encodeURIComponent(name)}`;
export const threadPath = (thread: string, message?: string) =>
  within('t', thread) + (message ? `?m=${encodeURIComponent(message)}` : '');
export const newThreadPath = (agent: string) => `/?agent=${encodeURIComponent(agent)}`;
export const agentsPath = '/agents';
export const newAgentPath = '/agents/new';
export const agentPath = (agent: string) => within('agents', agent);
export const agentSeesPath = (agent: string) => `${agentPath(agent)}/sees`;
export const settingsPath = (group = '') => (group ? within('settings', group) : '/settings');
export const usagePath = '/usage';
export const archivePath = '/archive';
export const startPath = '/start';
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
