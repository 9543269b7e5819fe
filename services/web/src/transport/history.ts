/** What one turn has shown so far, batch by batch: knows duplicates, and can be cut back when an epoch was abandoned.
 *
 * The SDK can only add to a message. So when something must vanish, the history is cut here, the SDK's stream is ended
 * and a new one replays the history: its `start` empties the SDK's message (`resumeStreamIsReplay`), the rest rebuilds
 * it. A cut drops whole batches, so the result is what a fresh reader of the log would see.
 */
import type { UIMessageChunk } from 'ai';
import type { Batch, Position } from './batches';

interface Superseded {
  epoch: number;
  cut: number;
  parts?: string[];
}

type Applied = { type: 'nothing' } | { type: 'append'; chunks: UIMessageChunk[] } | { type: 'rewind' };

interface Entry {
  number: number;
  chunks: UIMessageChunk[];
}

export class History {
  private entries: Entry[] = [];
  /** The last whole batch: what a reconnection asks to continue from. */
  position: Position | undefined;

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Forgets everything: the log could not be continued and will be read from its start. */
  clear(): void {
    this.entries = [];
    this.position = undefined;
  }

  apply(batch: Batch): Applied {
    const { position } = batch;
    const note = supersededNote(batch.chunks);
    if (position && this.position && !isNew(position, this.position, note)) return { type: 'nothing' };
    if (position) this.position = position;
    const number = position?.number ?? this.entries.at(-1)?.number ?? 0;
    if (!note) {
      const chunks = mergeDeltas(batch.chunks);
      this.entries.push({ number, chunks });
      return { type: 'append', chunks };
    }
    const isCut = this.cutBack(note);
    const rest = this.applicable(batch.chunks.filter((chunk) => chunk.type !== 'data-superseded'));
    this.entries.push({ number, chunks: rest });
    return isCut ? { type: 'rewind' } : { type: 'append', chunks: rest };
  }

  /** Everything that counts, as few chunks as possible. */
  replay(): UIMessageChunk[] {
    return mergeDeltas(this.entries.flatMap((entry) => entry.chunks));
  }

  /** Drops what began beyond the cut; says whether anything was dropped. */
  private cutBack({ cut, parts }: Superseded): boolean {
    const kept = this.entries.filter((entry) => entry.number <= cut);
    const dropNamed = namedPartFilter(new Set(parts ?? []));
    const cleaned = kept.map((entry) => ({ ...entry, chunks: entry.chunks.filter(dropNamed) }));
    // The server may name parts that by our own count began before the cut: believe it, and drop a step left empty.
    const isNamed = cleaned.some((entry, index) => entry.chunks.length < (kept[index]?.chunks.length ?? 0));
    if (isNamed) dropEmptyLastStep(cleaned);
    const isCut = isNamed || kept.length < this.entries.length;
    this.entries = cleaned;
    return isCut;
  }

  /** The note comes with ends for parts that were open: those of parts that are gone now must not reach the SDK. */
  private applicable(chunks: UIMessageChunk[]): UIMessageChunk[] {
    const open = new Set<string>();
    for (const chunk of this.replay()) noteOpen(open, chunk);
    return chunks.filter((chunk) => {
      const id = partId(chunk);
      if (id !== undefined && !isOpening(chunk) && !open.has(id)) return false;
      noteOpen(open, chunk);
      return true;
    });
  }
}

/** Numbers run on from the cut, whichever epoch writes them, so they alone say what is new: after a note for epoch 3,
 * batches of epoch 2 may follow that epoch 3 has kept. A note is new if we are beyond its cut. */
function isNew(next: Position, known: Position, note: Superseded | undefined): boolean {
  return note ? known.number > note.cut : next.number > known.number;
}

function supersededNote(chunks: UIMessageChunk[]): Superseded | undefined {
  const chunk = chunks.find((candidate) => candidate.type === 'data-superseded');
  return chunk && 'data' in chunk ? (chunk.data as Superseded) : undefined;
}

/** Names the part that a chunk belongs to, unique among the parts of its kind. */
function partId(chunk: UIMessageChunk): string | undefined {
  if (chunk.type.startsWith('text-') && 'id' in chunk) return `text ${chunk.id}`;
  if (chunk.type.startsWith('reasoning-') && 'id' in chunk) return `reasoning ${chunk.id}`;
  if (chunk.type.startsWith('tool-') && 'toolCallId' in chunk) return `tool ${chunk.toolCallId}`;
  if ('sourceId' in chunk) return `source ${chunk.sourceId}`;
  return undefined;
}

function isOpening(chunk: UIMessageChunk): boolean {
  if ('sourceId' in chunk) return true;
  return chunk.type.endsWith('-start') || chunk.type === 'tool-input-available' || chunk.type === 'tool-input-error';
}

function noteOpen(open: Set<string>, chunk: UIMessageChunk): void {
  const id = partId(chunk);
  if (id === undefined) return;
  if (isOpening(chunk)) open.add(id);
  // A tool call stays: its result may come at any later time. A source is whole at once, and stays by its name.
  else if (chunk.type === 'text-end' || chunk.type === 'reasoning-end') open.delete(id);
}

/** A filter that drops all chunks of the named parts; it must see the chunks in order, because ids are used again. */
function namedPartFilter(named: Set<string>): (chunk: UIMessageChunk) => boolean {
  const dropped = new Set<string>();
  return (chunk) => {
    const id = partId(chunk);
    if (id === undefined || named.size === 0) return true;
    if (isOpening(chunk)) {
      if (named.has(partName(chunk) ?? '')) dropped.add(id);
      else if (!('toolCallId' in chunk)) dropped.delete(id);
    }
    return !dropped.has(id);
  };
}

/** The name under which the server speaks of a part: ours for text and reasoning, the id of a call or a source. */
function partName(chunk: UIMessageChunk): string | undefined {
  if ('toolCallId' in chunk) return chunk.toolCallId;
  if ('sourceId' in chunk) return chunk.sourceId;
  const metadata = 'providerMetadata' in chunk ? chunk.providerMetadata?.retinue : undefined;
  const part = metadata && typeof metadata === 'object' ? (metadata as { part?: unknown }).part : undefined;
  return typeof part === 'string' ? part : undefined;
}

function dropEmptyLastStep(entries: Entry[]): void {
  for (const entry of entries.toReversed()) {
    const kept = entry.chunks.findLastIndex((chunk) => chunk.type !== 'start-step' && chunk.type !== 'finish-step');
    if (kept >= 0) {
      const tail = entry.chunks.slice(kept + 1);
      if (tail.some((chunk) => chunk.type === 'start-step')) entry.chunks = entry.chunks.slice(0, kept + 1);
      return;
    }
    entry.chunks = [];
  }
}

/** Joins neighbouring deltas of one part: the same message, in far fewer updates. */
export function mergeDeltas(chunks: UIMessageChunk[]): UIMessageChunk[] {
  const merged: UIMessageChunk[] = [];
  for (const chunk of chunks) {
    const last = merged.at(-1);
    if (last && chunk.type === 'text-delta' && last.type === 'text-delta' && joins(last, chunk)) {
      merged[merged.length - 1] = { ...last, delta: last.delta + chunk.delta };
    } else if (last && chunk.type === 'reasoning-delta' && last.type === 'reasoning-delta' && joins(last, chunk)) {
      merged[merged.length - 1] = { ...last, delta: last.delta + chunk.delta };
    } else {
      merged.push(chunk);
    }
  }
  return merged;
}

function joins(a: { id: string; providerMetadata?: unknown }, b: { id: string; providerMetadata?: unknown }): boolean {
  return a.id === b.id && a.providerMetadata === undefined && b.providerMetadata === undefined;
}
