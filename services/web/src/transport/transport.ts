/** The AI SDK's transport over Retinue's own routes: `POST/GET /api/threads/{id}/turn`.
 *
 * One transport serves one thread. Each turn is followed by a `Follow`, which outlives connections; the SDK only sees
 * streams that end when the turn does, or when something already shown has to vanish (then `isRewound` says to
 * call `chat.resumeStream()`, whose stream replays what counts).
 */
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { type Backoff, makeBackoff } from './backoff';
import { Follow, type FollowState } from './follow';

export interface TransportOptions {
  thread: string;
  fetch?: typeof fetch;
  backoff?: Backoff;
  silence?: number;
  patience?: number;
}

type SendOptions = Parameters<ChatTransport<UIMessage>['sendMessages']>[0];
type ReconnectOptions = Parameters<ChatTransport<UIMessage>['reconnectToStream']>[0];

export class TurnTransport implements ChatTransport<UIMessage> {
  readonly resumeStreamIsReplay = true;
  /** The turn that was asked for last, whatever became of it. */
  current: Follow | undefined;

  private readonly options: TransportOptions;
  /** The newest question whether something runs, until it is answered. */
  private probe: Follow | undefined;
  private readonly listeners = new Set<() => void>();
  private readonly follows = new Set<Follow>();
  private readonly outcomes = new Map<string, { resolve: () => void; reject: (error: unknown) => void }>();

  constructor(options: TransportOptions) {
    this.options = options;
  }

  /** To be asked for before the message is sent: resolves when the server has taken it, rejects when it has not. */
  accepted(messageId: string): Promise<void> {
    return new Promise((resolve, reject) => this.outcomes.set(messageId, { resolve, reject }));
  }

  /** Posts the last message; resolves once the server has accepted it, rejects if it did not. */
  sendMessages = async ({ messages, abortSignal, body }: SendOptions): Promise<ReadableStream<UIMessageChunk>> => {
    // What is asked for meanwhile would be a second reader of the same turn.
    this.probe?.close();
    const message = messages.at(-1);
    if (!message) throw new Error('There is no message to send');
    const follow = this.follow(undefined, {
      // The key makes sending again harmless: the same key and body is the same turn.
      headers: { 'content-type': 'application/json', 'idempotency-key': message.id },
      body: JSON.stringify({ message: toWire(message), busy: 'replace', ...body }),
    });
    this.current = follow;
    const outcome = this.outcomes.get(message.id);
    this.outcomes.delete(message.id);
    try {
      const stream = await this.opened(follow, abortSignal);
      outcome?.resolve();
      return stream ?? emptyStream();
    } catch (error) {
      outcome?.reject(error);
      throw error;
    }
  };

  /** Follows the running turn from its start, or goes on with one that was rewound. Null: nothing is running. */
  reconnectToStream = async ({
    abortSignal,
    body,
  }: ReconnectOptions): Promise<ReadableStream<UIMessageChunk> | null> => {
    const turn = (body as { turn?: string } | undefined)?.turn;
    const rewound = this.rewound();
    if (rewound) {
      if (rewound.state.phase === 'ended') this.follows.delete(rewound);
      closeOnAbort(rewound, abortSignal);
      return rewound.stream();
    }
    this.probe = this.follow(turn);
    return this.opened(this.probe, abortSignal);
  };

  /** State of the newest turn, for the words at the foot of the message; a stable object until something changes. */
  get state(): FollowState | undefined {
    return this.current?.state;
  }

  /** Whether a turn is being sent, awaited, or watched. */
  get isRunning(): boolean {
    return this.current !== undefined && this.current.state.phase !== 'ended';
  }

  /** Whether something shown had to vanish, and `chat.resumeStream()` is wanted. */
  get isRewound(): boolean {
    return this.rewound() !== undefined;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  close(): void {
    for (const follow of this.follows) follow.close();
    this.follows.clear();
  }

  private rewound(): Follow | undefined {
    return [...this.follows].find((follow) => follow.isRewound);
  }

  private follow(turn: string | undefined, submit?: { headers: Record<string, string>; body: string }): Follow {
    const { thread, fetch: ownFetch, backoff, silence, patience } = this.options;
    const follow = new Follow(
      {
        fetch: ownFetch ?? ((input, init) => fetch(input, init)),
        backoff: backoff ?? makeBackoff(),
        silence: silence ?? 35_000,
        patience: patience ?? 30_000,
        url: `/api/threads/${encodeURIComponent(thread)}/turn`,
        onChange: () => this.changed(follow),
      },
      turn,
      submit,
    );
    this.follows.add(follow);
    return follow;
  }

  private async opened(
    follow: Follow,
    signal: AbortSignal | undefined,
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    closeOnAbort(follow, signal);
    const isThere = await follow.open().finally(() => {
      if (this.probe === follow) this.probe = undefined;
    });
    if (!isThere) return null;
    this.current = follow;
    return follow.stream();
  }

  private changed(follow: Follow): void {
    if (follow.state.phase === 'ended' && !follow.isRewound) this.follows.delete(follow);
    for (const listener of this.listeners) listener();
  }
}

/** What the server needs of a message: not the SDK's own bookkeeping. */
function toWire({ id, role, parts, metadata }: UIMessage) {
  return metadata === undefined ? { id, role, parts } : { id, role, parts, metadata };
}

function closeOnAbort(follow: Follow, signal: AbortSignal | undefined): void {
  if (signal?.aborted) follow.close();
  else signal?.addEventListener('abort', () => follow.close(), { once: true });
}

function emptyStream(): ReadableStream<UIMessageChunk> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
