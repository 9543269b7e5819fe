/** The gateway's JSON routes, one function each. Streams are read by `transport/`. */
import { ApiError, readFailure, Unreachable } from './failure';
import type {
  Agent,
  AgentChange,
  AgentWish,
  FoundServer,
  Instructions,
  Models,
  NewProvider,
  Provider,
  ProviderChange,
  Providers,
  ProviderTest,
  Run,
  SearchHit,
  Seen,
  Setting,
  SettingValue,
  Start,
  Starter,
  ToolInfo,
  Usage,
} from './shapes';
import type {
  Config,
  DeadLetter,
  DeadLetterPage,
  DeadLetterState,
  MessagePage,
  NewAccount,
  NewToken,
  SignedIn,
  Thread,
  ThreadPage,
  Token,
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

export async function guarded<Answer>(method: Method, path: string, body?: unknown): Promise<Answer> {
  try {
    return await request<Answer>(method, path, body);
  } catch (failure) {
    noteFailure(failure);
    throw failure;
  }
}

const inThread = (thread: string) => `/api/threads/${encodeURIComponent(thread)}`;
const ofAgent = (agent: string) => `/api/agents/${encodeURIComponent(agent)}`;
const before = (cursor: string | null) => (cursor ? `?before=${encodeURIComponent(cursor)}` : '');

export interface List<Item> {
  items: Item[];
  next_cursor?: string | null;
}

/** A query of what is there. */
export function query(fields: Record<string, string | null | undefined>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => Boolean(field[1]));
  return new URLSearchParams(given).toString();
}

export const api = {
  config: () => request<Config>('GET', '/api/config'),
  login: (username: string, password: string) => request<SignedIn>('POST', '/api/auth/login', { username, password }),
  register: (account: NewAccount) => request<SignedIn>('POST', '/api/auth/register', account),
  logout: () => request<void>('POST', '/api/auth/logout'),

  threads: (cursor: string | null = null) => guarded<ThreadPage>('GET', `/api/threads${before(cursor)}`),
  thread: (thread: string) => guarded<Thread>('GET', inThread(thread)),
  createThread: (agent?: string) =>
    guarded<{ id: string }>('POST', '/api/threads', agent === undefined ? {} : { agent_id: agent }),
  changeThread: (thread: string, change: { model?: string | null; effort?: string | null }) =>
    guarded<unknown>('PATCH', inThread(thread), change),
  renameThread: (thread: string, title: string) => guarded<unknown>('PATCH', inThread(thread), { title }),
  archiveThread: (thread: string, archived: boolean) => guarded<unknown>('PATCH', inThread(thread), { archived }),
  archivedThreads: (cursor: string | null = null) =>
    guarded<ThreadPage>('GET', `/api/threads?${query({ archived: 'true', before: cursor })}`),
  restoreThread: (thread: string) => guarded<unknown>('PATCH', inThread(thread), { deleted: false }),
  searchThreads: (words: string, cursor: string | null = null) =>
    guarded<List<SearchHit>>('GET', `/api/threads/search?${query({ q: words, limit: '20', before: cursor })}`),
  deleteThread: (thread: string) => guarded<void>('DELETE', inThread(thread)),
  messages: (thread: string, cursor: string | null = null) =>
    guarded<MessagePage>('GET', `${inThread(thread)}/messages${before(cursor)}`),
  messagesAround: (thread: string, message: string) =>
    guarded<MessagePage>('GET', `${inThread(thread)}/messages?${query({ around: message })}`),
  laterMessages: (thread: string, cursor: string) =>
    guarded<MessagePage>('GET', `${inThread(thread)}/messages?${query({ after: cursor })}`),
  turn: (turn: string) => guarded<Run>('GET', `/api/turns/${encodeURIComponent(turn)}`),
  turnPrompt: (turn: string) => guarded<Seen>('GET', `/api/turns/${encodeURIComponent(turn)}/prompt`),

  agents: (archived = false) => guarded<List<Agent>>('GET', `/api/agents${archived ? '?archived=true' : ''}`),
  agent: (agent: string) => guarded<Agent>('GET', ofAgent(agent)),
  createAgent: (wish: AgentWish) => guarded<Agent>('POST', '/api/agents', wish),
  changeAgent: (agent: string, change: AgentChange) => guarded<Agent>('PATCH', ofAgent(agent), change),
  archiveAgent: (agent: string) => guarded<void>('DELETE', ofAgent(agent)),
  makeDefaultAgent: (agent: string) => guarded<unknown>('POST', `${ofAgent(agent)}/default`),
  starters: () => guarded<List<Starter>>('GET', '/api/agents/starters'),
  instructions: (agent: string) => guarded<Instructions>('GET', `${ofAgent(agent)}/instructions?channel=web`),
  tools: () => guarded<List<ToolInfo>>('GET', '/api/tools'),

  models: () => guarded<Models>('GET', '/api/models'),
  providers: () => guarded<Providers>('GET', '/api/providers'),
  addProvider: (wish: NewProvider) => guarded<Provider>('POST', '/api/providers', wish),
  changeProvider: (id: string, change: ProviderChange) =>
    guarded<Provider>('PATCH', `/api/providers/${encodeURIComponent(id)}`, change),
  removeProvider: (id: string) => guarded<void>('DELETE', `/api/providers/${encodeURIComponent(id)}`),
  testProvider: (of: { id: string } | { kind: string; base_url?: string; key?: string }) =>
    guarded<ProviderTest>('POST', '/api/providers/test', of),
  foundServers: () => guarded<List<FoundServer>>('GET', '/api/providers/found'),
  settings: () => guarded<List<Setting>>('GET', '/api/settings'),
  changeSettings: (change: Record<string, SettingValue>) => guarded<List<Setting>>('PATCH', '/api/settings', change),
  start: () => guarded<Start>('GET', '/api/start'),

  tokens: () => guarded<List<Token>>('GET', '/api/tokens'),
  createToken: (name: string) => guarded<NewToken>('POST', '/api/tokens', { name }),
  revokeToken: (id: string) => guarded<void>('DELETE', `/api/tokens/${encodeURIComponent(id)}`),

  usage: (asked: Record<string, string>) => guarded<Usage>('GET', `/api/usage?${query(asked)}`),

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
