import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { BatchReader } from '../src/transport/batches';
import { History, mergeDeltas } from '../src/transport/history';

const part = (name: string) => ({ providerMetadata: { retinue: { part: name } } });
const batch = (epoch: number, number: number, ...chunks: UIMessageChunk[]) => ({ position: { epoch, number }, chunks });
const start: UIMessageChunk = { type: 'start', messageId: 'm' };
const step: UIMessageChunk = { type: 'start-step' };
const textStart = (id: string, name: string): UIMessageChunk => ({ type: 'text-start', id, ...part(name) });
const delta = (id: string, text: string): UIMessageChunk => ({ type: 'text-delta', id, delta: text });
const textEnd = (id: string): UIMessageChunk => ({ type: 'text-end', id });
const note = (epoch: number, cut: number, parts: string[]): UIMessageChunk => ({
  type: 'data-superseded',
  data: { epoch, cut, parts },
});

function filled(...batches: ReturnType<typeof batch>[]): History {
  const history = new History();
  for (const one of batches) history.apply(one);
  return history;
}

test('a batch that came before changes nothing', () => {
  const history = filled(batch(1, 1, start), batch(1, 2, textStart('t', 'p'), delta('t', 'a')));
  expect(history.apply(batch(1, 2, textStart('t', 'p'), delta('t', 'a')))).toEqual({ type: 'nothing' });
  expect(history.apply(batch(1, 1, start))).toEqual({ type: 'nothing' });
  expect(history.position).toEqual({ epoch: 1, number: 2 });
});

test('a note cuts back to the batch that counts, and leaves out the ends of what is gone', () => {
  const history = filled(
    batch(1, 1, start),
    batch(1, 2, step, textStart('t1', 'p1'), delta('t1', 'kept'), textEnd('t1')),
    batch(1, 3, { type: 'finish-step' }, step, textStart('t1', 'p2'), delta('t1', 'lost')),
    batch(1, 4, delta('t1', ' too')),
  );
  const applied = history.apply(batch(2, 2, textEnd('t1'), { type: 'finish-step' }, note(2, 2, ['p2'])));
  expect(applied.type).toBe('rewind');
  expect(history.replay()).toEqual([
    start,
    step,
    textStart('t1', 'p1'),
    delta('t1', 'kept'),
    textEnd('t1'),
    { type: 'finish-step' },
  ]);
  expect(history.position).toEqual({ epoch: 2, number: 2 });
  expect(history.apply(batch(2, 3, step)).type).toBe('append');
});

test('after a note, batches of an epoch between may follow', () => {
  const history = filled(batch(1, 1, start), batch(1, 2, step), batch(1, 3, textStart('t', 'p')));
  expect(history.apply(batch(3, 2, textEnd('t'), note(3, 2, ['p']))).type).toBe('rewind');
  expect(history.apply(batch(2, 3, textStart('t', 'q'))).type).toBe('append');
  expect(history.apply(batch(3, 4, delta('t', 'x'))).type).toBe('append');
});

test('a note for what we never had is no reason to start over', () => {
  const history = filled(batch(1, 1, start), batch(1, 2, step));
  expect(history.apply(batch(2, 2, note(2, 2, [])))).toEqual({ type: 'nothing' });
  expect(history.apply(batch(2, 3, textStart('t', 'p'))).type).toBe('append');
});

test('parts that are named go even where our own count would keep them, with the step they leave empty', () => {
  const history = filled(
    batch(1, 5, start, step, textStart('t', 'p1'), textEnd('t'), step, textStart('t', 'p2'), delta('t', 'lost')),
    batch(1, 6, delta('t', ' as well')),
  );
  history.apply(batch(2, 5, textEnd('t'), note(2, 5, ['p2'])));
  expect(history.replay()).toEqual([start, step, textStart('t', 'p1'), textEnd('t')]);
});

test('a call that began before the cut stays, and takes its result again', () => {
  const call: UIMessageChunk = { type: 'tool-input-available', toolCallId: 'c', toolName: 'x', input: {} };
  const result: UIMessageChunk = { type: 'tool-output-available', toolCallId: 'c', output: 1 };
  const history = filled(batch(1, 1, start), batch(1, 2, step, call), batch(1, 3, result));
  expect(history.apply(batch(2, 2, note(2, 2, []))).type).toBe('rewind');
  expect(history.replay()).toEqual([start, step, call]);
  expect(history.apply(batch(2, 3, result)).type).toBe('append');
});

test('neighbouring deltas of one part become one', () => {
  expect(mergeDeltas([delta('a', '1'), delta('a', '2'), delta('b', '3'), delta('a', '4')])).toEqual([
    delta('a', '12'),
    delta('b', '3'),
    delta('a', '4'),
  ]);
});

test('what the server says for the moment does not wait for a batch', () => {
  const reader = new BatchReader();
  const said: UIMessageChunk = { type: 'data-retinue-status', data: { position: 2 }, transient: true };
  expect(reader.push({ data: JSON.stringify(said), id: undefined })).toEqual([{ type: 'notice', chunk: said }]);
  expect(reader.push({ data: JSON.stringify(start), id: '1.1' })).toEqual([
    { type: 'batch', batch: batch(1, 1, start) },
  ]);
  expect(reader.push({ data: '[DONE]', id: undefined })).toEqual([{ type: 'end' }]);
});
