/** One thread as the page knows it: its messages, the turn that runs, sending, stopping, and what to do afterwards. */
import { Chat, useChat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useReducer, useRef, useState, useSyncExternalStore } from 'react';
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
  messages: UIMessage[];
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
  const [cursor, setCursor] = useState<string | null>(null);
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
    const known = new Set(page.items.map((message) => message.id));
    const overlap = now.findIndex((message) => known.has(message.id));
    if (transport.isRunning) {
      // Something was sent while the page loaded: what runs is newer than what was read, so only history is taken.
      const shown = new Set(now.map((message) => message.id));
      const first = page.items.findIndex((message) => shown.has(message.id));
      setMessages([...page.items.slice(0, first < 0 ? undefined : first), ...now]);
    } else {
      setMessages(overlap > 0 ? [...now.slice(0, overlap), ...page.items] : page.items);
      held.current = isOpen(page.items.at(-1)) ? page.items.at(-1) : undefined;
    }
    if (overlap <= 0) setCursor(page.next_cursor);
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

  const loadOlder = useCallback(async () => {
    if (!cursor) return;
    const page = await api.messages(thread, cursor);
    const known = new Set(chat.messages.map((message) => message.id));
    setMessages([...page.items.filter((message) => !known.has(message.id)), ...chat.messages]);
    setCursor(page.next_cursor);
  }, [chat, cursor, setMessages, thread]);

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
    load,
    failure,
    hasOlder: cursor !== null,
    turn,
    isRunning,
    isStopping: isRunning && stopping !== undefined && stopping === (turn?.turn ?? ''),
    isKept: useCallback((id: string) => kept.current.has(id), []),
    reload,
    loadOlder,
    send,
    stop,
  };
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
