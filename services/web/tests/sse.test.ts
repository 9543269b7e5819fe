import { expect, test } from 'vitest';
import { type SseEvent, SseParser } from '../src/transport/sse';

const BYTES = new TextEncoder().encode(
  '\uFEFF: open\n\ndata: {"a":"ü—🌍"}\nid: 1.1\n\nevent: x\r\ndata:first\r\ndata: second\r\n\r\n: keep-alive\rdata: third\r\r\n\nid: 9.9\n\ndata: last\n\n',
);
const EVENTS = [
  { data: '{"a":"ü—🌍"}', id: '1.1' },
  { data: 'first\nsecond', id: undefined },
  { data: 'third', id: undefined },
  { data: 'last', id: undefined },
];

function parse(...pieces: Uint8Array[]): SseEvent[] {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

test('reads events with every kind of line end, skipping comments', () => {
  expect(parse(BYTES)).toEqual(EVENTS);
});

test('reads the same whatever the bytes are cut into', () => {
  for (let at = 0; at <= BYTES.length; at += 1) {
    expect(parse(BYTES.slice(0, at), BYTES.slice(at)), `cut at ${at}`).toEqual(EVENTS);
  }
  expect(parse(...Array.from(BYTES, (byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
});

test('gives nothing of an event that is not whole', () => {
  expect(parse(new TextEncoder().encode('data: {"half":'))).toEqual([]);
  expect(parse(new TextEncoder().encode('data: whole but not ended\n'))).toEqual([]);
});
