/** A gateway of one turn for tests: a list of batches, served as the native rows do, with faults on demand. */
import type { UIMessageChunk } from 'ai';

export interface LoggedBatch {
  epoch: number;
  number: number;
  chunks: UIMessageChunk[];
}

/** What one connection does; without any it serves the log from `after` to its end. */
export interface Connection {
  /** The connection breaks after so many bytes. */
  cutAt?: number;
  /** It ends cleanly there instead, as a proxy might end it. */
  isCleanCut?: boolean;
  /** No stream at all, but this status (0: no answer). */
  status?: number;
  body?: unknown;
  /** Serves exactly these batches. */
  batches?: LoggedBatch[];
  /** Bytes in pieces of this size. */
  pieces?: number;
  isOpenEnded?: boolean;
}

const MOST_REQUESTS = 100;

export interface Request {
  method: string;
  url: string;
  after: string | null;
  turn: string | null;
  headers: Headers;
  body: string | undefined;
}

export class LogServer {
  readonly requests: Request[] = [];
  log: LoggedBatch[];
  private readonly connections: Connection[];

  constructor(log: LoggedBatch[], connections: Connection[] = []) {
    this.log = log;
    this.connections = [...connections];
  }

  readonly fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(String(input), 'http://test');
    const after = url.searchParams.get('after');
    this.requests.push({
      method: init?.method ?? 'GET',
      url: url.pathname,
      after,
      turn: url.searchParams.get('turn'),
      headers: new Headers(init?.headers),
      body: init?.body as string | undefined,
    });
    if (this.requests.length > MOST_REQUESTS) throw new Error('The client asks without end');
    const connection = this.connections.shift() ?? {};
    if (connection.status === 0) throw new TypeError('fetch failed');
    if (connection.status !== undefined) {
      const body = connection.status === 204 ? null : JSON.stringify(connection.body ?? {});
      return new Response(body, { status: connection.status });
    }
    const number = after ? Number(after.split('.')[1]) : 0;
    const bytes = encode(connection.batches ?? this.log.filter((batch) => batch.number > number), this.log);
    return new Response(bodyOf(bytes, connection, init?.signal ?? undefined), { status: 200 });
  };
}

/** The wire: one event per chunk, the id on the last of a batch; of the last batch that is `[DONE]`. */
export function encode(batches: LoggedBatch[], log: LoggedBatch[]): Uint8Array<ArrayBuffer> {
  const lines = [': stream-open\n\n'];
  for (const batch of batches) {
    const events = batch.chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    if (batch === log.at(-1)) events.push('data: [DONE]\n\n');
    events.push(`id: ${batch.epoch}.${batch.number}\n${events.pop()}`);
    lines.push(...events, ': keep-alive\n\n');
  }
  return new TextEncoder().encode(lines.join(''));
}

function bodyOf(
  bytes: Uint8Array<ArrayBuffer>,
  connection: Connection,
  signal?: AbortSignal,
): ReadableStream<Uint8Array> {
  const { cutAt = bytes.length, pieces = bytes.length, isCleanCut, isOpenEnded } = connection;
  let at = 0;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      signal?.addEventListener('abort', () => controller.error(signal.reason));
    },
    pull(controller) {
      const end = Math.min(at + pieces, cutAt, bytes.length);
      if (end > at) {
        controller.enqueue(bytes.slice(at, end));
        at = end;
      } else if (cutAt < bytes.length && !isCleanCut) {
        controller.error(new TypeError('network error'));
      } else if (!isOpenEnded) {
        controller.close();
      } else {
        return new Promise(() => undefined);
      }
      return undefined;
    },
  });
}
