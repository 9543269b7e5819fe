/** A stand-in for the gateway, for work on the page alone: serves `dist/` with the real CSP and speaks the native rows
 * from memory. `node dev/fixture.mjs [port]`. Words in a message choose what happens to its turn:
 *
 *   tool     a tool call, then text          error    the turn fails half-way
 *   long     many paragraphs                 refuse   the POST is answered 429
 *   reset    the connection breaks thrice    wait     three seconds pass before it starts
 *   cut      another epoch takes over        gone     the log cannot be continued (410)
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const DIST = new URL('../dist/', import.meta.url).pathname;
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
const PACE = Number(process.env.PACE ?? 30);

const users = new Map();
const sessions = new Map();
const threads = new Map();
const turns = new Map();
let serial = 0;
const newId = (kind) => `${kind}-${String(++serial).padStart(4, '0')}-${Date.now().toString(36)}`;

// --- what a turn says ---

const PROSE = `Here is a **short answer** with a [link](https://example.org), \`inline code\` and a list:

1. First, the plain thing.
2. Then the other thing, which is a little longer so that it wraps on a phone.

| city | temperature | wind |
| --- | ---: | --- |
| Lisbon | 19.5 °C | calm |
| Reykjavík | −2.0 °C | stormy, and a long cell to scroll |

\`\`\`python
def area(radius: float) -> float:
    """Area of a circle."""
    return 3.14159 * radius ** 2  # a comment that is rather long, so that the block has to scroll sideways
\`\`\`

> Quoted words.

That is all.`;

function* said(text) {
  yield [
    { type: 'start-step' },
    { type: 'reasoning-start', id: 'r1', providerMetadata: { retinue: { part: 'p-r1' } } },
  ];
  for (const word of 'The person wants an answer. I will look at the question first, then write it down.'.split(
    /(?<= )/,
  ))
    yield [{ type: 'reasoning-delta', id: 'r1', delta: word }];
  yield [{ type: 'reasoning-end', id: 'r1' }];
  if (/tool/.test(text)) {
    for (const [call, name, input, output] of [
      ['call-1', 'calculator', { expression: '19.5 * 3' }, { value: '58.5' }],
      ['call-2', 'current_time', { timezone: 'Europe/Lisbon' }, { time: '2026-11-30T17:00:00+00:00' }],
    ]) {
      yield [{ type: 'tool-input-start', toolCallId: call, toolName: name, providerExecuted: true }];
      yield [{ type: 'tool-input-available', toolCallId: call, toolName: name, input, providerExecuted: true }];
      for (let i = 0; i < 30; i += 1) yield [];
      if (/broken/.test(text))
        yield [
          {
            type: 'tool-output-error',
            toolCallId: call,
            errorText: 'The expression ends too early.',
            providerExecuted: true,
          },
        ];
      else yield [{ type: 'tool-output-available', toolCallId: call, output, providerExecuted: true }];
    }
    yield [{ type: 'finish-step' }];
    yield [{ type: 'start-step' }];
  }
  yield [{ type: 'text-start', id: 't1', providerMetadata: { retinue: { part: 'p-t1' } } }];
  const prose = /long/.test(text) ? Array(8).fill(PROSE).join('\n\n') : PROSE;
  for (const word of prose.split(/(?<=\s)/)) yield [{ type: 'text-delta', id: 't1', delta: word }];
  yield [{ type: 'text-end', id: 't1' }, { type: 'finish-step' }];
}

// --- the log ---

function append(turn, chunks, isEnd = false) {
  turn.number += 1;
  const id = `${turn.epoch}.${turn.number}`;
  const events = chunks.map(
    (chunk, i) => `data: ${JSON.stringify(chunk)}\n${i === chunks.length - 1 ? `id: ${id}\n` : ''}\n`,
  );
  const batch = {
    epoch: turn.epoch,
    number: turn.number,
    chunks,
    bytes: events.join('') + (isEnd ? 'data: [DONE]\n\n' : ''),
    isEnd,
  };
  turn.log.push(batch);
  for (const wake of turn.readers) wake();
}

async function run(turn, text) {
  const { message } = turn;
  if (/wait/.test(text)) await pause(3000);
  turn.status = 'running';
  append(turn, [{ type: 'start', messageId: message.id, messageMetadata: { retinue: { turn: turn.id } } }]);
  let count = 0;
  for (const chunks of said(text)) {
    if (turn.isStopped) break;
    if (chunks.length > 0) append(turn, chunks);
    count += 1;
    if (/error/.test(text) && count === 60) {
      turn.status = 'failed';
      turn.error = { message: 'The model stopped answering. What it wrote is kept.' };
      append(
        turn,
        [
          { type: 'text-end', id: 't1' },
          { type: 'error', errorText: 'The model stopped answering. What it wrote is kept.' },
        ],
        true,
      );
      return settle(turn);
    }
    if (/cut/.test(text) && count === 50) takeOver(turn);
    await pause(PACE);
  }
  turn.status = turn.isStopped ? 'stopped' : 'finished';
  const last = turn.isStopped ? [...closing(turn), { type: 'abort' }] : [{ type: 'finish', finishReason: 'stop' }];
  append(turn, last, true);
  settle(turn);
}

function openParts(turn) {
  const open = new Map();
  for (const { chunks } of turn.log)
    for (const chunk of chunks) {
      if (/^(text|reasoning)-start$/.test(chunk.type)) open.set(chunk.id, chunk.type.replace('start', 'end'));
      if (/^(text|reasoning)-end$/.test(chunk.type)) open.delete(chunk.id);
    }
  return open;
}

const closing = (turn) => [...openParts(turn)].map(([id, type]) => ({ type, id }));

/** A new epoch begins after the last batch of the first step; the text that had begun is written again. */
function takeOver(turn) {
  const cut = turn.log.findLast((batch) => batch.chunks.some((chunk) => chunk.type === 'reasoning-end')).number;
  const ends = closing(turn);
  turn.epoch += 1;
  turn.log = turn.log.filter((batch) => batch.number <= cut);
  turn.number = cut;
  turn.note = {
    epoch: turn.epoch,
    cut,
    chunks: [...ends, { type: 'data-superseded', data: { epoch: turn.epoch, cut, parts: ['p-t1'] } }],
  };
  append(turn, [
    { type: 'text-start', id: 't1', providerMetadata: { retinue: { part: 'p-t2' } } },
    { type: 'text-delta', id: 't1', delta: '*Written anew.* ' },
  ]);
}

function settle(turn) {
  const parts = [];
  const byId = new Map();
  for (const { chunks } of turn.log)
    for (const chunk of chunks) {
      if (chunk.type === 'start-step') parts.push({ type: 'step-start' });
      const kind = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type);
      if (kind?.[2] === 'start')
        parts.push(
          byId
            .set(chunk.id, { type: kind[1], text: '', state: 'streaming', providerMetadata: chunk.providerMetadata })
            .get(chunk.id),
        );
      if (kind?.[2] === 'delta') byId.get(chunk.id).text += chunk.delta;
      if (kind?.[2] === 'end' && byId.has(chunk.id)) byId.get(chunk.id).state = 'done';
      if (chunk.type === 'tool-input-available')
        parts.push(
          byId
            .set(chunk.toolCallId, {
              type: `tool-${chunk.toolName}`,
              toolCallId: chunk.toolCallId,
              state: 'input-available',
              input: chunk.input,
              providerExecuted: true,
            })
            .get(chunk.toolCallId),
        );
      if (chunk.type === 'tool-output-available')
        Object.assign(byId.get(chunk.toolCallId), { state: 'output-available', output: chunk.output });
      if (chunk.type === 'tool-output-error')
        Object.assign(byId.get(chunk.toolCallId), { state: 'output-error', errorText: chunk.errorText });
    }
  turn.message.parts = parts;
  turn.message.metadata = { retinue: { turn: turn.id, status: turn.status, error: turn.error } };
  touch(turn.thread);
}

async function stream(response, turn, after) {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-vercel-ai-ui-message-stream': 'v1',
    'x-retinue-turn': turn.id,
  });
  response.write(': stream-open\n\n');
  let { epoch, number } = after ?? { epoch: 0, number: 0 };
  let sent = 0;
  let isGone = false;
  response.on('close', () => {
    isGone = true;
  });
  for (;;) {
    if (isGone) return;
    if (turn.note && epoch > 0 && epoch < turn.note.epoch) {
      const { chunks, cut } = turn.note;
      if (number > cut)
        response.write(
          chunks
            .map(
              (chunk, i) =>
                `data: ${JSON.stringify(chunk)}\n${i === chunks.length - 1 ? `id: ${turn.note.epoch}.${cut}\n` : ''}\n`,
            )
            .join(''),
        );
      ({ epoch } = turn.note);
      number = cut;
    }
    const next = turn.log.find((batch) => batch.number > number);
    if (!next) {
      await new Promise((resolve) => turn.readers.add(resolve) && setTimeout(resolve, 1000));
      continue;
    }
    sent += 1;
    if (/reset|gone/.test(turn.text) && turn.resets < 3 && sent === 40) {
      turn.resets += 1;
      // Half a batch, then a reset: what a killed gateway looks like.
      response.write(next.bytes.slice(0, next.bytes.length / 2));
      await pause(20);
      turn.awayUntil = Date.now() + 1500;
      return response.socket.resetAndDestroy();
    }
    response.write(next.bytes);
    epoch = next.epoch;
    number = next.number;
    if (next.isEnd) return response.end();
  }
}

// --- routes ---

const json = (response, status, body, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
};
const refuse = (response, status, error, message, headers) => json(response, status, { error, message }, headers);
const touch = (thread) => Object.assign(thread, { touched_at: new Date().toISOString() });
const running = (thread) => [...turns.values()].findLast((turn) => turn.thread === thread && !turn.log.at(-1)?.isEnd);

function listed(thread) {
  const turn = running(thread);
  const last = [...turns.values()].findLast((candidate) => candidate.thread === thread);
  const status = turn ? turn.status : last?.status === 'failed' ? 'failed' : null;
  return {
    id: thread.id,
    title: thread.title,
    preview: thread.preview,
    touched_at: thread.touched_at,
    agent_id: 'agent-1',
    status,
  };
}

/** One hint that everything may have changed; this stand-in has no others. */
function hints(request, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('event: sync\ndata: {}\n\n');
  request.on('close', () => response.end());
}

const AGENT = { id: 'agent-1', name: 'Assistant', role: '', glyph: 'agent-1', is_default: true, archived: false };

async function handle(request, response) {
  const url = new URL(request.url, 'http://fixture');
  const body = ['POST', 'PATCH'].includes(request.method) ? JSON.parse((await text(request)) || '{}') : {};
  const user = sessions.get(/retinue_session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]);
  const [, api, ...path] = url.pathname.split('/');
  if (api !== 'api') return serveFile(response, url.pathname);
  const route = `${request.method} ${path.join('/')}`;
  if (route === 'GET config')
    return json(response, 200, {
      registration: process.env.REGISTRATION ?? 'open',
      needs_setup: users.size === 0,
      version: 'fixture',
      user: user ?? null,
    });
  if (route === 'POST auth/register' || route === 'POST auth/login')
    return enter(response, route.endsWith('register'), body);
  if (!user) return refuse(response, 401, 'signed_out', 'Sign in first.');
  if (route === 'POST auth/logout') {
    sessions.delete(/retinue_session=([^;]+)/.exec(request.headers.cookie)[1]);
    return json(response, 204);
  }
  if (route === 'GET me') return json(response, 200, { user });
  if (route === 'GET events') return hints(request, response);
  if (route === 'GET agents') return json(response, 200, { items: [AGENT] });
  if (route === 'GET models') return json(response, 200, { items: [], default: 'fixture', roles: {}, providers: [] });
  if (path[0] !== 'threads') return refuse(response, 404, 'not_found', 'There is no such route.');
  if (route === 'GET threads') {
    const items = [...threads.values()].filter((thread) => thread.user === user.id).map(listed);
    return json(response, 200, {
      items: items.sort((a, b) => b.touched_at.localeCompare(a.touched_at)),
      next_cursor: null,
    });
  }
  if (route === 'POST threads') {
    const thread = touch({ id: newId('thread'), user: user.id, title: null, preview: null, messages: [] });
    threads.set(thread.id, thread);
    return json(response, 201, { id: thread.id });
  }
  const thread = threads.get(path[1]);
  if (!thread || thread.user !== user.id) return refuse(response, 404, 'not_found', 'There is no such thread.');
  if (path[2] === 'messages') return json(response, 200, page(thread));
  if (path[2] === 'turn') return handleTurn(request, response, url, thread, body);
  if (request.method === 'PATCH') thread.title = body.title;
  if (request.method === 'DELETE') threads.delete(thread.id);
  return json(response, 204);
}

function page(thread) {
  const turn = running(thread);
  if (turn) {
    settle(turn);
    turn.message.metadata.retinue.status = turn.status;
  }
  return {
    items: thread.messages.filter(
      (message) => message.role === 'user' || message.parts.length > 0 || message === turn?.message,
    ),
    next_cursor: null,
  };
}

function enter(response, isNew, { username, password }) {
  if (isNew && users.has(username)) return refuse(response, 409, 'taken', 'This user name is taken.');
  if (isNew) users.set(username, { password, user: { id: newId('user'), username, is_admin: users.size === 0 } });
  const account = users.get(username);
  if (account?.password !== password) return refuse(response, 401, 'wrong', 'User name or password is wrong.');
  const session = newId('session');
  sessions.set(session, account.user);
  return json(
    response,
    200,
    { user: account.user },
    { 'set-cookie': `retinue_session=${session}; HttpOnly; SameSite=Lax; Path=/` },
  );
}

function handleTurn(request, response, url, thread, body) {
  const named = turns.get(url.searchParams.get('turn'));
  if (request.method === 'DELETE') {
    const turn = named ?? running(thread);
    if (turn) turn.isStopped = true;
    return json(response, 202, {});
  }
  if (request.method === 'GET') {
    const turn = named ?? running(thread);
    const [epoch, number] = (url.searchParams.get('after') ?? '').split('.').map(Number);
    if (!turn) return json(response, 204);
    if (Date.now() < (turn.awayUntil ?? 0)) return request.socket.resetAndDestroy();
    if (number && /gone/.test(turn.text)) return refuse(response, 410, 'log_gone', 'Ask from the start.');
    return stream(response, turn, number ? { epoch, number } : undefined);
  }
  const words = body.message.parts.map((part) => part.text).join('');
  if (/refuse/.test(words))
    return refuse(response, 429, 'quota', 'You have reached 50 messages this hour.', { 'retry-after': '60' });
  const key = request.headers['idempotency-key'];
  const known = [...turns.values()].find((turn) => turn.key === key);
  if (known) return stream(response, known);
  const before = running(thread);
  if (before) before.isStopped = true;
  const message = { id: newId('message'), role: 'assistant', parts: [], metadata: {} };
  const turn = {
    id: newId('turn'),
    key,
    thread,
    message,
    text: words,
    status: 'queued',
    epoch: 1,
    number: 0,
    log: [],
    readers: new Set(),
    resets: 0,
  };
  turns.set(turn.id, turn);
  thread.messages.push(body.message, message);
  thread.preview ??= words.slice(0, 80);
  touch(thread);
  void run(turn, words);
  return stream(response, turn);
}

async function text(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function serveFile(response, path) {
  const name = extname(path) ? normalize(path) : '/index.html';
  const bytes = await readFile(join(DIST, name)).catch(() => undefined);
  if (!bytes) return refuse(response, 404, 'not_found', 'There is no such file.');
  response.writeHead(200, {
    'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
    'content-security-policy': CSP,
  });
  response.end(bytes);
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
