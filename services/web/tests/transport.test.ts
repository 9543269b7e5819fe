/** The transport under the real `Chat` of the SDK: whatever the connections do, the message ends the same. */
import { Chat } from '@ai-sdk/react';
import type { UIMessage, UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { ApiError } from '../src/api/failure';
import { TurnTransport } from '../src/transport/transport';
import { type Connection, encode, type LoggedBatch, LogServer } from './logserver';

const at = (epoch: number, number: number, ...chunks: UIMessageChunk[]): LoggedBatch => ({ epoch, number, chunks });
const part = (name: string) => ({ providerMetadata: { retinue: { part: name } } });

const LOG: LoggedBatch[] = [
  at(1, 1, { type: 'start', messageId: 'answer', messageMetadata: { retinue: { turn: 'T', status: 'running' } } }),
  at(1, 2, { type: 'start-step' }, { type: 'reasoning-start', id: 'r', ...part('r1') }),
  at(1, 3, { type: 'reasoning-delta', id: 'r', delta: 'Höm…' }, { type: 'reasoning-end', id: 'r' }),
  at(
    1,
    4,
    { type: 'tool-input-start', toolCallId: 'c', toolName: 'calculator', providerExecuted: true },
    { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{"expression":' },
    { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '"1+1"}' },
  ),
  at(1, 5, {
    type: 'tool-input-available',
    toolCallId: 'c',
    toolName: 'calculator',
    input: { expression: '1+1' },
    providerExecuted: true,
  }),
  at(1, 6, { type: 'tool-output-available', toolCallId: 'c', output: { value: '2' }, providerExecuted: true }),
  at(1, 7, { type: 'finish-step' }, { type: 'start-step' }, { type: 'text-start', id: 't', ...part('t1') }),
  at(1, 8, { type: 'text-delta', id: 't', delta: 'Two 🌍 ' }, { type: 'text-delta', id: 't', delta: 'it ' }),
  at(1, 9, { type: 'text-delta', id: 't', delta: 'is.' }),
  at(1, 10, { type: 'text-end', id: 't' }, { type: 'finish-step' }),
  at(1, 11, { type: 'finish', finishReason: 'stop', messageMetadata: { retinue: { turn: 'T', status: 'finished' } } }),
];

/** No pause, but a real turn of the event loop. */
const now = { wait: () => new Promise<void>((resolve) => setTimeout(resolve)) };

function chatOn(server: LogServer, messages: UIMessage[] = []) {
  const transport = new TurnTransport({ thread: 'th', fetch: server.fetch, backoff: now, patience: 1000 });
  return { transport, chat: new Chat<UIMessage>({ id: 'th', transport, messages }) };
}

async function play({ chat, transport }: ReturnType<typeof chatOn>, isResume = false) {
  if (isResume) await chat.resumeStream();
  else await chat.sendMessage({ id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] });
  while (transport.isRewound) await chat.resumeStream();
  return chat.messages;
}

async function answerOver(connections: Connection[], log = LOG): Promise<UIMessage | undefined> {
  return (await play(chatOn(new LogServer(log, connections)))).at(-1);
}

const whole = await answerOver([]);

test('a message is posted once, under its own key, and the answer is whole', async () => {
  const server = new LogServer(LOG);
  const messages = await play(chatOn(server));
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]?.headers.get('idempotency-key')).toBe('mine');
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
    message: { id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] },
    busy: 'replace',
  });
  expect(messages.map((message) => message.id)).toEqual(['mine', 'answer']);
  expect(whole?.parts.map((one) => one.type)).toEqual([
    'step-start',
    'reasoning',
    'tool-calculator',
    'step-start',
    'text',
  ]);
  expect(whole?.metadata).toEqual({ retinue: { turn: 'T', status: 'finished' } });
});

test('a connection cut after any byte, broken or clean, ends with the identical message', async () => {
  const length = encode(LOG, LOG).length;
  for (let cutAt = 0; cutAt < length; cutAt += 1) {
    const answer = await answerOver([{ cutAt, isCleanCut: cutAt % 2 === 0, pieces: 97 }]);
    expect(answer, `cut after ${cutAt} bytes`).toEqual(whole);
  }
}, 60_000);

test('many breaks, refusals and absences in a row are all survived', async () => {
  const faults: Connection[] = [
    { cutAt: 400 },
    { status: 0 },
    { status: 503 },
    { status: 502 },
    { cutAt: 10 },
    { cutAt: 300, pieces: 1 },
    { status: 429 },
    { cutAt: 500 },
  ];
  expect(await answerOver(faults)).toEqual(whole);
});

test('a reconnection asks from the last whole batch of the turn it follows', async () => {
  const server = new LogServer(LOG, [{ cutAt: encode(LOG.slice(0, 4), LOG).length - 20 }]);
  await play(chatOn(server));
  expect(server.requests[1]).toMatchObject({ method: 'GET', turn: 'T', after: '1.3' });
});

test('a post whose answer broke before anything came is posted again under the same key', async () => {
  const server = new LogServer(LOG, [{ status: 0 }, { cutAt: 5 }]);
  const messages = await play(chatOn(server));
  expect(server.requests.map((request) => [request.method, request.headers.get('idempotency-key')])).toEqual([
    ['POST', 'mine'],
    ['POST', 'mine'],
    ['POST', 'mine'],
  ]);
  expect(messages.at(-1)).toEqual(whole);
});

test('batches that come twice are applied once', async () => {
  const twice = LOG.flatMap((batch) => [batch, { ...batch }]).slice(0, -1);
  expect(await answerOver([{ batches: twice, cutAt: 1e9 }, {}])).toEqual(whole);
});

test('410 drops what is shown and reads the log from its start', async () => {
  const server = new LogServer(LOG, [
    { cutAt: 900 },
    { status: 410, body: { error: 'log_gone', message: 'Start over.' } },
  ]);
  expect((await play(chatOn(server))).at(-1)).toEqual(whole);
  expect(server.requests.map((request) => request.after)).toEqual([null, expect.stringMatching(/^1\./), null]);
});

test('superseded text vanishes, and the message is what a fresh reader sees', async () => {
  const abandoned = [
    at(1, 7, { type: 'finish-step' }, { type: 'start-step' }, { type: 'text-start', id: 't', ...part('old') }),
    at(1, 8, { type: 'text-delta', id: 't', delta: 'Three it' }),
  ];
  const note = at(
    2,
    6,
    { type: 'text-end', id: 't' },
    { type: 'finish-step' },
    { type: 'data-superseded', data: { epoch: 2, cut: 6, parts: ['old'] } },
  );
  const anew = LOG.slice(6).map((batch) => ({ ...batch, epoch: 2 }));
  const counted = [...LOG.slice(0, 6), ...anew];
  const seen = [...LOG.slice(0, 6), ...abandoned, note, ...anew];
  const live = await answerOver([{ batches: seen }], counted);
  expect(live).toEqual(whole);

  const server = new LogServer(counted, [
    { batches: [...LOG.slice(0, 6), ...abandoned], cutAt: 1e9, isCleanCut: true },
  ]);
  const states = chatOn(server);
  server.log = counted;
  const afterBreak = new LogServer(counted, [
    { batches: [...LOG.slice(0, 6), ...abandoned] },
    { batches: [note, ...anew] },
  ]);
  expect((await play(chatOn(afterBreak))).at(-1)).toEqual(whole);
  expect(afterBreak.requests[1]?.after).toBe('1.8');
  states.transport.close();
});

test('a page that opens in mid-answer shows the same from the first chunk', async () => {
  const committed: UIMessage[] = [
    { id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] },
    { id: 'answer', role: 'assistant', parts: [{ type: 'step-start' }, { type: 'text', text: 'old', state: 'done' }] },
  ];
  const server = new LogServer(LOG, [{ cutAt: 700 }]);
  const messages = await play(chatOn(server, committed), true);
  expect(messages.map((message) => message.id)).toEqual(['mine', 'answer']);
  expect(messages.at(-1)).toEqual(whole);
});

test('nothing running is no error, and leaves the messages alone', async () => {
  const messages: UIMessage[] = [{ id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] }];
  const { chat, transport } = chatOn(new LogServer(LOG, [{ status: 204 }]), messages);
  await chat.resumeStream();
  expect(chat.messages).toEqual(messages);
  expect(chat.status).toBe('ready');
  expect(transport.isRunning).toBe(false);
});

test('a refusal is thrown with the words of the server, and nothing is tried again', async () => {
  const server = new LogServer(LOG, [{ status: 409, body: { error: 'busy', message: 'Something else runs here.' } }]);
  const { chat, transport } = chatOn(server);
  const accepted = transport.accepted('mine');
  const ended = chat.sendMessage({ id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] });
  await expect(accepted).rejects.toThrow('Something else runs here.');
  await ended;
  expect(chat.error).toBeInstanceOf(ApiError);
  expect(server.requests).toHaveLength(1);
  expect(transport.isRunning).toBe(false);
});

test('an error of the turn keeps the message and gives its words', async () => {
  const failed = [
    ...LOG.slice(0, 9),
    at(
      1,
      10,
      { type: 'text-end', id: 't' },
      { type: 'message-metadata', messageMetadata: { retinue: { status: 'failed' } } },
      { type: 'error', errorText: 'The model has gone.' },
    ),
  ];
  const states = chatOn(new LogServer(failed));
  const messages = await play(states);
  expect(states.transport.state).toMatchObject({ phase: 'ended', error: 'The model has gone.' });
  expect(messages.at(-1)?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Two 🌍 it is.', state: 'done' });
  expect(messages.at(-1)?.metadata).toEqual({ retinue: { turn: 'T', status: 'failed' } });
});

test('the place in the line is told, and is no part of the message', async () => {
  const said: UIMessageChunk = { type: 'data-retinue-status', data: { position: 2, turn: 'T' }, transient: true };
  const waiting = new TextEncoder().encode(`data: ${JSON.stringify(said)}\n\n`);
  const server = new LogServer(LOG);
  let open: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      open = controller;
    },
  });
  const fetchOnce = async () => new Response(body, { status: 200 });
  const transport = new TurnTransport({ thread: 'th', fetch: fetchOnce, backoff: now });
  const chat = new Chat<UIMessage>({ id: 'th', transport });
  const ended = chat.sendMessage({ id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] });
  const told = new Promise<void>((resolve) => transport.subscribe(() => transport.state?.place === 2 && resolve()));
  await new Promise((resolve) => setTimeout(resolve));
  open?.enqueue(waiting);
  await told;
  expect(transport.state).toMatchObject({ phase: 'waiting', turn: 'T', place: 2 });
  open?.enqueue(encode(server.log, server.log));
  await ended;
  expect(chat.messages.at(-1)).toEqual(whole);
});

test('a connection that falls silent counts as broken', async () => {
  const server = new LogServer(LOG, [{ cutAt: 1e9, batches: LOG.slice(0, 5), isOpenEnded: true }]);
  const transport = new TurnTransport({ thread: 'th', fetch: server.fetch, backoff: now, silence: 30 });
  const chat = new Chat<UIMessage>({ id: 'th', transport });
  await chat.sendMessage({ id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] });
  expect(chat.messages.at(-1)).toEqual(whole);
  expect(server.requests).toHaveLength(2);
});

test('leaving the page closes the connection and asks for nothing more', async () => {
  const server = new LogServer(LOG, [{ batches: LOG.slice(0, 5), isOpenEnded: true }]);
  const { chat, transport } = chatOn(server);
  const ended = chat.sendMessage({ id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Sum?' }] });
  await new Promise<void>((resolve) => transport.subscribe(() => transport.state?.phase === 'streaming' && resolve()));
  await chat.stop();
  await ended;
  expect(transport.isRunning).toBe(false);
  expect(server.requests).toHaveLength(1);
});
