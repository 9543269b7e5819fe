/** Streams that made-up lives of a turn gave to a window (tests/property writes them): broken off, taken back, begun
 * anew. What the page shows in the end is the stored message. */
import { readFileSync } from 'node:fs';
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { BatchReader } from '../src/transport/batches';
import { History } from '../src/transport/history';
import { SseParser } from '../src/transport/sse';

interface Reading {
  seed: number;
  connections: { starts_over: boolean; data: string }[];
  parts: UIMessage['parts'];
}

const file = new URL('../../../tests/property/readings.json', import.meta.url);
const readings = JSON.parse(readFileSync(file, 'utf8')) as Reading[];

async function reduced(chunks: UIMessageChunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) if (chunk.type !== 'error') controller.enqueue(chunk);
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  const onError = (error: unknown) => {
    throw error;
  };
  for await (const message of readUIMessageStream({ stream, onError })) last = structuredClone(message);
  return last;
}

/** Returns what a fresh stream would replay at the end, and what the SDK was given since the last rewind. */
function read({ connections }: Reading): { replayed: UIMessageChunk[]; given: UIMessageChunk[] } {
  const history = new History();
  let given: UIMessageChunk[] = [];
  for (const connection of connections) {
    if (connection.starts_over) {
      history.clear();
      given = [];
    }
    const parser = new SseParser();
    const batches = new BatchReader();
    const bytes = new TextEncoder().encode(connection.data);
    for (let at = 0; at < bytes.length; at += 100) {
      for (const event of parser.push(bytes.subarray(at, at + 100))) {
        for (const entry of batches.push(event)) {
          if (entry.type !== 'batch') continue;
          const applied = history.apply(entry.batch);
          if (applied.type === 'append') given.push(...applied.chunks);
          if (applied.type === 'rewind') given = history.replay();
        }
      }
    }
  }
  return { replayed: history.replay(), given };
}

test.each(readings)('reading $seed ends with the stored message', async (reading) => {
  const { replayed, given } = read(reading);
  expect((await reduced(replayed))?.parts).toEqual(reading.parts);
  expect((await reduced(given))?.parts).toEqual(reading.parts);
});
