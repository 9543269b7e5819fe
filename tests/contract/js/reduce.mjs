// Reads one JSON array of chunks per line, prints per line the message that each SDK version makes of it:
// {"6": {message} | {error}, "7": …}. The chunks are validated as the SDK's own transport validates them.
import { createInterface } from 'node:readline';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';

const versions = { 6: ai6, 7: ai7 };

async function invalid(ai, chunks) {
  const schema = ai.uiMessageChunkSchema();
  for (const chunk of chunks) {
    const result = await schema.validate(chunk);
    if (!result.success) return `${chunk.type}: ${result.error.message}`;
  }
}

async function reduce(ai, chunks) {
  const error = await invalid(ai, chunks);
  if (error) return { error };
  // A `start-step` alone publishes no snapshot; a repeated `start` with the same id changes nothing and publishes one.
  const messageId = chunks.findLast(chunk => chunk.type === 'start')?.messageId ?? '';
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of [...chunks, { type: 'start', messageId }]) controller.enqueue(chunk);
      controller.close();
    },
  });
  const errors = [];
  let message;
  for await (const snapshot of ai.readUIMessageStream({ stream, onError: error => errors.push(error) })) {
    message = snapshot;
  }
  // An `error` chunk is reported, too; it says what it says and the message stays as it is.
  const broken = errors.find(error => error.name === 'AI_UIMessageStreamError');
  return broken ? { error: broken.message } : { message };
}

for await (const line of createInterface({ input: process.stdin })) {
  const chunks = JSON.parse(line);
  const result = {};
  for (const [version, ai] of Object.entries(versions)) result[version] = await reduce(ai, chunks);
  process.stdout.write(JSON.stringify(result) + '\n');
}
