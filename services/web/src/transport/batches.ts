/** Batches of the chunk log: events are held back until the one that carries the batch's id, so that only whole
 * batches are ever applied (see "The chunk log" in the docs of the turn). */
import type { UIMessageChunk } from 'ai';
import type { SseEvent } from './sse';

export interface Position {
  epoch: number;
  number: number;
}

export interface Batch {
  /** Absent only for what an `[DONE]` without an id ends. */
  position: Position | undefined;
  chunks: UIMessageChunk[];
}

export type LogEntry =
  | { type: 'batch'; batch: Batch }
  /** Said by the server outside of the log, for the moment only. */
  | { type: 'notice'; chunk: UIMessageChunk }
  | { type: 'end' };

export function parsePosition(id: string): Position | undefined {
  const match = /^(\d+)\.(\d+)$/.exec(id);
  return match ? { epoch: Number(match[1]), number: Number(match[2]) } : undefined;
}

export function formatPosition(position: Position): string {
  return `${position.epoch}.${position.number}`;
}

export class BatchReader {
  private held: UIMessageChunk[] = [];

  /** Returns what is complete with this event: a batch, the end of the log (after what was still held), or nothing. */
  push(event: SseEvent): LogEntry[] {
    const position = event.id === undefined ? undefined : parsePosition(event.id);
    if (event.data === '[DONE]') {
      const last = this.take(position);
      return last.batch.chunks.length > 0 ? [last, { type: 'end' }] : [{ type: 'end' }];
    }
    const chunk = JSON.parse(event.data) as UIMessageChunk;
    if (event.id === undefined && this.held.length === 0 && 'transient' in chunk && chunk.transient) {
      return [{ type: 'notice', chunk }];
    }
    this.held.push(chunk);
    return position ? [this.take(position)] : [];
  }

  private take(position: Position | undefined): { type: 'batch'; batch: Batch } {
    const chunks = this.held;
    this.held = [];
    return { type: 'batch', batch: { position, chunks } };
  }
}
