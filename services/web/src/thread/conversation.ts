/** One thread as the page knows it: its messages, the turn that runs, sending, stopping, and what to do afterwards. */
import { Chat, useChat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import {
  startTransition,
  useCallback,
  useEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { api, noteFailure } from '../api/client';
import type { MessagePage } from '../api/types';
import { announce, listen } from '../shell/tabs';
import { listedThread, refreshThreads, useListedThread } from '../threads/threads';
import type { FollowState } from '../transport/follow';
import { TurnTransport } from '../transport/transport';
import { factsOf, isOpen, textOf } from './metadata';

/** Messages of the threads seen lately, so that coming back shows them at once. */
const seen = new Map<string, UIMessage[]>();
/** How often the page is drawn while text streams. In ms. */
const REDRAW = 40;

export interface Conversation {
  /** The newest messages: those of the first page that was read, and what came since. */
  messages: UIMessage[];
  /** What was read of the messages before them. */
  earlier: UIMessage[];
  load: 'loading' | 'loaded' | 'failed';
  failure: unknown;
  hasOlder: boolean;
  turn: FollowState | undefined;
  isRunning: boolean;
  isStopping: boolean;
  /** Whether the server is known to have this message; what is only shown may still be refused. */
  isKept: (id: string) => boolean;
  reload: () => Promise<void>;
  loadOlder: () => Promise<void>;
  /** Takes messages that were read elsewhere and reach up to the newest ones, with the cursor of what is before them. */
  adopt: (found: UIMessage[], older: string | null) => void;
  /** Resolves when the server has accepted the message, rejects when it has not. */
  send: (id: string, text: string) => Promise<void>;
  stop: () => Promise<void>;
}

export function useConversation(thread: string): Conversation {
  const [transport] = useState(() => new TurnTransport({ thread }));
  const [chat] = useState(
    () => new Chat<UIMessage>({ id: thread, transport, messages: seen.get(thread) ?? [], onError: noteFailure }),
  );
  const { messages, setMessages } = useChat({ chat, throttle: REDRAW });
  const turn = useSyncExternalStore(transport.subscribe, () => transport.state);
  const [load, setLoad] = useState<Conversation['load']>(seen.has(thread) ? 'loaded' : 'loading');
  const [failure, setFailure] = useState<unknown>();
  const [{ earlier, cursor }, setPast] = useState<Past>(NO_PAST);
  const past = useRef<Past>(NO_PAST);
  past.current = { earlier, cursor };
  const [stopping, setStopping] = useState<string>();
  const [isSettling, setSettling] = useState(false);
  const [news, hearNews] = useReducer((count: number) => count + 1, 0);
  const held = useRef<UIMessage>(undefined);
  const kept = useRef(new Set<string>());
  const sends = useRef(0);

  const read = useCallback(async () => {
    let page: MessagePage;
    let before: FollowState | undefined;
    do {
      before = transport.state;
      page = await api.messages(thread);
      // A turn that began or ended meanwhile, and is over, may be missing from this page.
    } while (transport.state !== before && !transport.isRunning);
    for (const message of page.items) kept.current.add(message.id);
    const now = chat.messages;
    const whole = [...past.current.earlier, ...now];
    const known = new Set(page.items.map((message) => message.id));
    // What was seen on an earlier visit says nothing about what is before it.
    const isFirst = past.current.cursor === undefined;
    const overlap = isFirst ? -1 : whole.findIndex((message) => known.has(message.id));
    if (transport.isRunning) {
      // Something was sent while the page loaded: what runs is newer than what was read, so only history is taken.
      const shown = new Set(whole.map((message) => message.id));
      const first = page.items.findIndex((message) => shown.has(message.id));
      setMessages([...page.items.slice(0, first < 0 ? undefined : first), ...now]);
    } else {
      const before = past.current.earlier.length;
      setMessages(overlap > before ? [...whole.slice(before, overlap), ...page.items] : page.items);
      if (overlap > 0 && overlap < before) setPast((now) => ({ ...now, earlier: whole.slice(0, overlap) }));
      held.current = isOpen(page.items.at(-1)) ? page.items.at(-1) : undefined;
    }
    if (overlap <= 0) setPast({ earlier: [], cursor: page.next_cursor });
  }, [chat, setMessages, thread, transport]);

  /** Plays on whatever the transport had to rewind, then puts right what a missed end left open. */
  const settle = useCallback(async () => {
    while (transport.isRewound) {
      held.current = transport.state?.phase === 'reconnecting' ? chat.messages.at(-1) : undefined;
      await chat.resumeStream();
    }
    held.current = undefined;
    if (transport.state?.isLost) await read().catch(setFailure);
    seen.set(thread, chat.messages);
    setSettling(true);
    await refreshThreads();
    setSettling(false);
    // Ours has ended, yet the thread is at work: somebody sent something from elsewhere meanwhile.
    if (listedThread(thread)?.status && listedThread(thread)?.status !== 'failed') hearNews();
  }, [chat, read, thread, transport]);

  const lookAndFollow = useCallback(async () => {
    try {
      await read();
      setLoad('loaded');
      setFailure(undefined);
    } catch (error) {
      setFailure(error);
      setLoad((now) => (now === 'loaded' ? now : 'failed'));
      return;
    }
    if (transport.isRunning) return;
    const before = transport.state;
    await chat.resumeStream({ body: { turn: factsOf(held.current).turn } });
    const wasRunning = transport.state !== before;
    // It may have ended between the two questions: then the messages hold the answer now.
    if (!wasRunning && (held.current || chat.lastMessage?.role === 'user')) await read().catch(setFailure);
    await settle();
  }, [chat, read, settle, transport]);
  const readAndFollow = useCallback(async () => {
    const before = sends.current;
    await lookAndFollow();
    // What is sent goes before what is looked at: the look is repeated once the answer is there.
    if (sends.current !== before) hearNews();
  }, [lookAndFollow]);
  const reload = useOneAtATime(readAndFollow);

  useEffect(() => {
    void reload();
    return () => {
      transport.close();
      void chat.stop();
    };
  }, [chat, reload, transport]);

  const isRunning = transport.isRunning;
  const phase = turn?.phase;
  useEffect(() => {
    if (phase === 'streaming') void refreshThreads();
  }, [phase]);
  useChangesElsewhere(thread, news, hearNews, isRunning || isSettling || load !== 'loaded', reload);

  const isLoadingOlder = useRef(false);
  const loadOlder = useCallback(async () => {
    const { cursor } = past.current;
    if (!cursor || isLoadingOlder.current) return;
    isLoadingOlder.current = true;
    try {
      const page = await api.messages(thread, cursor);
      // Drawn in the pauses: a page of long answers would else hold up whoever scrolls.
      startTransition(() => setPast((now) => (now.cursor === cursor ? withOlder(now, page) : now)));
    } finally {
      isLoadingOlder.current = false;
    }
  }, [thread]);
  const adopt = useCallback(
    (found: UIMessage[], older: string | null) => {
      const shown = new Set(chat.messages.map((message) => message.id));
      setPast({ earlier: found.filter((message) => !shown.has(message.id)), cursor: older });
    },
    [chat],
  );

  const send = useCallback(
    async (id: string, text: string) => {
      sends.current += 1;
      const accepted = transport.accepted(id);
      const ended = chat.sendMessage({ id, role: 'user', parts: [{ type: 'text', text }] });
      try {
        await accepted;
      } catch (error) {
        await ended;
        noteFailure(error);
        setMessages((now) => now.filter((message) => message.id !== id));
        chat.clearError();
        throw error;
      }
      announce({ kind: 'thread', thread });
      void refreshThreads();
      void ended.then(settle);
    },
    [chat, setMessages, settle, thread, transport],
  );

  const stop = useCallback(async () => {
    const running = transport.state;
    if (!running || running.phase === 'ended') return;
    setStopping(running.turn ?? '');
    try {
      await api.stopTurn(thread, running.turn);
    } catch (error) {
      setStopping(undefined);
      throw error;
    }
  }, [thread, transport]);

  return {
    messages: withHeld(messages, isRunning ? held.current : undefined),
    earlier: useMemo(() => withoutThose(earlier, messages), [earlier, messages]),
    load,
    failure,
    hasOlder: typeof cursor === 'string',
    turn,
    isRunning,
    isStopping: isRunning && stopping !== undefined && stopping === (turn?.turn ?? ''),
    isKept: useCallback((id: string) => kept.current.has(id), []),
    reload,
    loadOlder,
    adopt,
    send,
    stop,
  };
}

/** What is known of the messages before the newest page, and the cursor to ask for more. */
interface Past {
  earlier: UIMessage[];
  /** Null: there are none; undefined: nobody has asked yet. */
  cursor: string | null | undefined;
}

const NO_PAST: Past = { earlier: [], cursor: undefined };

function withOlder({ earlier }: Past, page: MessagePage): Past {
  const known = new Set(earlier.map((message) => message.id));
  return {
    earlier: [...page.items.filter((message) => !known.has(message.id)), ...earlier],
    cursor: page.next_cursor,
  };
}

/** A message may be among both for a moment, and is shown once. */
function withoutThose(earlier: UIMessage[], messages: UIMessage[]): UIMessage[] {
  const last = earlier.at(-1);
  if (!last || !messages.some((message) => message.id === last.id)) return earlier;
  const shown = new Set(messages.map((message) => message.id));
  return earlier.filter((message) => !shown.has(message.id));
}

/** Two askers share one run; who asks in the middle of a run gets another one after it. */
function useOneAtATime(run: () => Promise<void>): () => Promise<void> {
  const current = useRef<Promise<void>>(undefined);
  const isWantedAgain = useRef(false);
  return useCallback(() => {
    isWantedAgain.current = current.current !== undefined;
    current.current ??= (async () => {
      try {
        do {
          isWantedAgain.current = false;
          await run();
        } while (isWantedAgain.current);
      } finally {
        current.current = undefined;
      }
    })();
    return current.current;
  }, [run]);
}

/** Looks again when another tab, or the list, says that this thread has changed. What the list says while a turn is
 * followed here is that turn; what another tab says is looked at when it has ended. */
function useChangesElsewhere(
  thread: string,
  news: number,
  hearNews: () => void,
  isBusy: boolean,
  reload: () => Promise<void>,
): void {
  const listed = useListedThread(thread);
  const stamp = listed && `${listed.touched_at} ${listed.status ?? ''}`;
  const seenStamp = useRef<string>(undefined);
  const seenNews = useRef(0);

  useEffect(() => {
    if (!isBusy && seenStamp.current !== undefined && stamp !== seenStamp.current) hearNews();
    seenStamp.current = stamp;
  }, [stamp, isBusy, hearNews]);
  useEffect(
    () =>
      listen((message) => {
        if (message.kind === 'thread' && message.thread === thread) hearNews();
      }),
    [thread, hearNews],
  );
  useEffect(() => {
    if (isBusy || news === seenNews.current) return;
    seenNews.current = news;
    void reload();
  }, [isBusy, news, reload]);
}

/** A replay empties the message and fills it again; until it has caught up, what was there stays on the page. */
function withHeld(messages: UIMessage[], held: UIMessage | undefined): UIMessage[] {
  if (!held) return messages;
  return messages.map((message) => (message.id === held.id && weight(message) < weight(held) ? held : message));
}

function weight(message: UIMessage): number {
  const reasoning = message.parts.reduce((sum, part) => sum + (part.type === 'reasoning' ? part.text.length : 0), 0);
  return message.parts.length + reasoning + textOf(message).length;
}
