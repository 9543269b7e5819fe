/** The gateway's JSON routes, one function each. Streams are read by `transport/`. */
import { ApiError, readFailure, Unreachable } from './failure';
import type {
  Config,
  DeadLetter,
  DeadLetterPage,
  DeadLetterState,
  MessagePage,
  NewAccount,
  SignedIn,
  Thread,
  ThreadPage,
  WholeDeadLetter,
} from './types';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

let onSignedOut: () => void = () => undefined;

/** Calls `listener` whenever a request finds that the session is over. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Tells the page that the session is over; for requests that are made elsewhere. */
export function noteFailure(failure: unknown): void {
  if (failure instanceof ApiError && failure.status === 401) onSignedOut();
}

async function request<Answer>(method: Method, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers:
      body === undefined
        ? { accept: 'application/json' }
        : { accept: 'application/json', 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => {
    throw new Unreachable();
  });
  if (!response.ok) throw await readFailure(response);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

async function guarded<Answer>(method: Method, path: string, body?: unknown): Promise<Answer> {
  try {
    return await request<Answer>(method, path, body);
  } catch (failure) {
    noteFailure(failure);
    throw failure;
  }
}

const inThread = (thread: string) => `/api/threads/${encodeURIComponent(thread)}`;
const before = (cursor: string | null) => (cursor ? `?before=${encodeURIComponent(cursor)}` : '');

export const api = {
  config: () => request<Config>('GET', '/api/config'),
  me: () => request<SignedIn>('GET', '/api/me'),
  login: (username: string, password: string) => request<SignedIn>('POST', '/api/auth/login', { username, password }),
  register: (account: NewAccount) => request<SignedIn>('POST', '/api/auth/register', account),
  logout: () => request<void>('POST', '/api/auth/logout'),

  threads: (cursor: string | null = null) => guarded<ThreadPage>('GET', `/api/threads${before(cursor)}`),
  thread: (thread: string) => guarded<Thread>('GET', inThread(thread)),
  createThread: () => guarded<{ id: string }>('POST', '/api/threads', {}),
  renameThread: (thread: string, title: string) => guarded<unknown>('PATCH', inThread(thread), { title }),
  bringBack: (thread: string) => guarded<unknown>('PATCH', inThread(thread), { archived: false }),
  deleteThread: (thread: string) => guarded<void>('DELETE', inThread(thread)),
  messages: (thread: string, cursor: string | null = null) =>
    guarded<MessagePage>('GET', `${inThread(thread)}/messages${before(cursor)}`),
  deadLetters: (state: DeadLetterState | undefined, cursor: string | null = null) => {
    const query = new URLSearchParams({ ...(state && { state }), ...(cursor && { before: cursor }) });
    return guarded<DeadLetterPage>('GET', `/api/admin/dead-letters?${query}`);
  },
  deadLetter: (id: string) => guarded<WholeDeadLetter>('GET', `/api/admin/dead-letters/${id}`),
  replayDeadLetter: (id: string) => guarded<DeadLetter>('POST', `/api/admin/dead-letters/${id}/replay`),
  dropDeadLetter: (id: string) => guarded<void>('DELETE', `/api/admin/dead-letters/${id}`),
  /** Idempotent; a stop of a turn that has ended changes nothing. */
  stopTurn: (thread: string, turn: string | undefined) =>
    guarded<unknown>('DELETE', `${inThread(thread)}/turn${turn ? `?turn=${encodeURIComponent(turn)}` : ''}`),
};
