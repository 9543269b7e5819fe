/** Follows one turn to its end, whatever happens to the connections: asks again from the last whole batch, starts over
 * when the log cannot continue there, and hands the chunks to whichever stream the SDK reads from at the moment. */
import type { UIMessageChunk } from 'ai';
import { readFailure, Unreachable } from '../api/failure';
import type { Backoff } from './backoff';
import { type Batch, BatchReader, formatPosition } from './batches';
import { History } from './history';
import { SseParser } from './sse';

export type Phase = 'sending' | 'waiting' | 'streaming' | 'reconnecting' | 'ended';

export interface FollowState {
  phase: Phase;
  turn: string | undefined;
  /** Place in the line of a turn that has not begun, from 1; undefined when the server has not said. */
  place: number | undefined;
  /** Words of the `error` chunk with which the turn ended. */
  error: string | undefined;
  isAborted: boolean;
  /** The turn was taken over by another runner while we watched. */
  isPickedUp: boolean;
  /** The end was missed: what the server keeps of the turn must be read from the thread's messages. */
  isLost: boolean;
}

export interface FollowOptions {
  fetch: typeof fetch;
  backoff: Backoff;
  /** Without a byte for so long (heartbeats come every 15 s) a connection counts as broken. In ms. */
  silence: number;
  /** How long a message that got no answer is sent again, under the same key. In ms. */
  patience: number;
  url: string;
  onChange: () => void;
}

/** Statuses of a server that is not there right now, as opposed to one that says no. */
const AWAY = new Set([408, 425, 429, 500, 502, 503, 504]);

const ENDS = new Set<UIMessageChunk['type']>(['finish', 'abort', 'error']);

type Submit = { headers: Record<string, string>; body: string };

export class Follow {
  readonly history = new History();
  /** Set when the SDK's stream was ended only in order to replay: ask for `stream()` again. */
  isRewound = false;
  state: FollowState;

  private readonly options: FollowOptions;
  private readonly abort = new AbortController();
  private sink: ReadableStreamDefaultController<UIMessageChunk> | undefined;
  private submit: Submit | undefined;

  constructor(options: FollowOptions, turn?: string, submit?: Submit) {
    this.options = options;
    this.submit = submit;
    this.state = {
      phase: submit ? 'sending' : 'waiting',
      turn,
      place: undefined,
      error: undefined,
      isAborted: false,
      isPickedUp: false,
      isLost: false,
    };
  }

  /** Makes the first connection, so that a refusal can be thrown to whoever asked. False: nothing is running. */
  async open(): Promise<boolean> {
    try {
      const response = this.submit ? await this.openSubmit() : await this.openRunning();
      if (response) void this.run(response);
      else this.change({ phase: 'ended' });
      return response !== undefined;
    } catch (error) {
      this.change({ phase: 'ended' });
      throw error;
    }
  }

  /** What the SDK reads: first everything so far, then what comes. */
  stream(): ReadableStream<UIMessageChunk> {
    this.isRewound = false;
    return new ReadableStream<UIMessageChunk>({
      start: (controller) => {
        for (const chunk of this.history.replay()) forward(controller, chunk);
        if (this.state.phase === 'ended') controller.close();
        else this.sink = controller;
      },
      cancel: () => this.close(),
    });
  }

  /** Stops watching. The turn itself goes on. */
  close(): void {
    this.sink = undefined;
    this.abort.abort(new DOMException('No longer followed', 'AbortError'));
  }

  // --- connections ---

  private async openSubmit(): Promise<Response> {
    const deadline = Date.now() + this.options.patience;
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.request('POST').catch(unreachable);
      if (answer.ok && answer.status !== 204) return this.accepted(answer);
      const failure = answer.status === 0 ? new Unreachable() : await readFailure(answer);
      const isAway = answer.status === 0 || answer.status === 502 || answer.status === 503 || answer.status === 504;
      if (!isAway || Date.now() > deadline) throw failure;
      this.change({ phase: 'reconnecting' });
      await this.options.backoff.wait(attempt, this.abort.signal, seconds(answer));
    }
  }

  private async openRunning(): Promise<Response | undefined> {
    const answer = await this.request('GET').catch(unreachable);
    if (answer.status === 204 || answer.status === 404) return undefined;
    if (answer.ok) return this.accepted(answer);
    if (answer.status !== 0 && !AWAY.has(answer.status)) throw await readFailure(answer);
    return answer;
  }

  private accepted(response: Response): Response {
    const turn = response.headers.get('x-retinue-turn') ?? this.state.turn;
    this.change({ phase: this.history.isEmpty ? 'waiting' : 'streaming', turn });
    return response;
  }

  /** Reads one connection after the other until the end of the log. */
  private async run(first: Response): Promise<void> {
    let response: Response | undefined = first;
    for (let attempt = 0; ; ) {
      const before = this.history.position;
      try {
        if (response?.ok && (await this.read(response))) return this.finish({});
      } catch (error) {
        if (this.abort.signal.aborted) return this.finish({});
        if (!(error instanceof Broken)) return this.fail(error);
      }
      if (this.abort.signal.aborted) return this.finish({});
      this.change({ phase: 'reconnecting' });
      attempt = before === this.history.position ? attempt + 1 : 0;
      try {
        await this.options.backoff.wait(attempt, this.abort.signal, seconds(response));
        response = await this.reconnect();
      } catch (error) {
        return this.abort.signal.aborted ? this.finish({}) : this.fail(error);
      }
      if (response === undefined) return this.finish({ isLost: true });
    }
  }

  /** The next connection; a Response that is not ok asks for another attempt, undefined says the turn is not there. */
  private async reconnect(): Promise<Response | undefined> {
    // A message whose turn is not known yet is posted again: its key makes it the same turn.
    const isUnknown = this.submit && this.state.turn === undefined && this.history.isEmpty;
    const answer = await this.request(isUnknown ? 'POST' : 'GET').catch(unreachable);
    if (answer.status === 204 || answer.status === 404) return undefined;
    if (answer.ok) return this.accepted(answer);
    if (answer.status === 410) {
      this.history.clear();
      this.rewind();
      return answer;
    }
    if (answer.status !== 0 && !AWAY.has(answer.status)) throw await readFailure(answer);
    return answer;
  }

  private request(method: 'GET' | 'POST'): Promise<Response> {
    const { url } = this.options;
    const signal = this.abort.signal;
    const accept = { accept: 'text/event-stream' };
    if (method === 'POST' && this.submit) {
      const headers = { ...accept, ...this.submit.headers };
      return this.options.fetch(url, { method, headers, body: this.submit.body, signal, credentials: 'same-origin' });
    }
    const query = new URLSearchParams();
    if (this.state.turn) query.set('turn', this.state.turn);
    if (this.history.position) query.set('after', formatPosition(this.history.position));
    const suffix = query.size > 0 ? `?${query}` : '';
    return this.options.fetch(url + suffix, { headers: accept, signal, credentials: 'same-origin', cache: 'no-store' });
  }

  // --- the log ---

  /** Applies whole batches until the connection ends. True at the end of the log; otherwise it was a broken one. */
  private async read(response: Response): Promise<boolean> {
    if (!response.body) throw new Broken();
    const reader = response.body.getReader();
    const parser = new SseParser();
    const batches = new BatchReader();
    try {
      for (;;) {
        const { done, value } = await this.readSome(reader);
        if (done) return false;
        for (const event of parser.push(value)) {
          for (const entry of batches.push(event)) {
            if (entry.type === 'end') return true;
            if (entry.type === 'notice') this.notice(entry.chunk);
            else if (this.apply(entry.batch)) return true;
          }
        }
      }
    } finally {
      reader.cancel().catch(() => undefined);
    }
  }

  private async readSome(reader: ReadableStreamDefaultReader<Uint8Array>) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Broken()), this.options.silence);
    });
    try {
      return await Promise.race([reader.read(), silence]);
    } catch {
      throw new Broken();
    } finally {
      clearTimeout(timer);
    }
  }

  /** True if this was the end batch: only that one says how the turn ended, so `[DONE]` need not be waited for. */
  private apply(batch: Batch): boolean {
    const applied = this.history.apply(batch);
    if (applied.type === 'nothing') return false;
    for (const chunk of batch.chunks) this.notice(chunk);
    if (applied.type === 'rewind') this.rewind();
    else for (const chunk of applied.chunks) if (this.sink) forward(this.sink, chunk);
    if (this.state.phase !== 'streaming') this.change({ phase: 'streaming' });
    return batch.chunks.some((chunk) => ENDS.has(chunk.type));
  }

  private notice(chunk: UIMessageChunk): void {
    if (chunk.type === 'start') this.change({ turn: turnOf(chunk.messageMetadata) ?? this.state.turn });
    else if (chunk.type === 'abort') this.change({ isAborted: true });
    else if (chunk.type === 'error') this.change({ error: chunk.errorText });
    else if (chunk.type === 'data-superseded') this.change({ isPickedUp: true });
    else if (chunk.type === 'data-retinue-status' && 'data' in chunk) this.change(waitingFrom(chunk.data));
  }

  /** Ends the SDK's stream, so that the next one can begin with a `start` that empties the message. */
  private rewind(): void {
    const { sink } = this;
    if (!sink) return;
    this.sink = undefined;
    this.isRewound = true;
    sink.close();
  }

  private finish(change: Partial<FollowState>): void {
    const { sink } = this;
    this.sink = undefined;
    this.change({ phase: 'ended', ...change });
    sink?.close();
  }

  private fail(error: unknown): void {
    const { sink } = this;
    this.sink = undefined;
    this.change({ phase: 'ended' });
    sink?.error(error);
  }

  private change(change: Partial<FollowState>): void {
    this.state = { ...this.state, ...change };
    this.options.onChange();
  }
}

/** The connection ended before the log did. */
class Broken extends Error {
  override readonly name = 'Broken';
}

/** The SDK drops whatever follows an `error` chunk; the error is kept in the state instead, the message stays whole. */
function forward(controller: ReadableStreamDefaultController<UIMessageChunk>, chunk: UIMessageChunk): void {
  if (chunk.type !== 'error') controller.enqueue(chunk);
}

function unreachable(error: unknown): Response {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  // Status 0 stands for "no answer at all"; Response.error() is the platform's own such value.
  return Response.error();
}

function seconds(response: Response | undefined): number {
  const value = Number(response?.headers.get('retry-after'));
  return value > 0 ? Math.min(value, 60) * 1000 : 0;
}

/** The server's word on a turn that has not begun: `{status, position, turn}`. */
function waitingFrom(data: unknown): Partial<FollowState> {
  const said = data && typeof data === 'object' ? (data as { position?: unknown; turn?: unknown }) : {};
  return {
    place: typeof said.position === 'number' ? said.position : undefined,
    ...(typeof said.turn === 'string' ? { turn: said.turn } : {}),
  };
}

function turnOf(metadata: unknown): string | undefined {
  const retinue = metadata && typeof metadata === 'object' ? (metadata as { retinue?: unknown }).retinue : undefined;
  const turn = retinue && typeof retinue === 'object' ? (retinue as { turn?: unknown }).turn : undefined;
  return typeof turn === 'string' ? turn : undefined;
}
