/** One thread: its messages, the foot, the composer, and the workbench beside them. */
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { signOf, useAgent } from '../agents/agents';
import { ApiError, describe } from '../api/failure';
import type { User } from '../api/types';
import { useCommands } from '../palette/commands';
import { navigate, threadPath } from '../router';
import { Panel } from '../shell/icons';
import { useOnline } from '../shell/online';
import { PageState } from '../shell/PageState';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { DeedsProvider } from './actions';
import { Composer, type ComposerHandle } from './Composer';
import { type Conversation, useConversation } from './conversation';
import { newMessageId, readDraft } from './drafts';
import { stampOf, turnsOf } from './inspector/turns';
import { useLookBack } from './lookback';
import { Messages } from './Messages';
import { ModelChoice } from './ModelChoice';
import { textOf } from './metadata';
import { take } from './outbox';
import { useFollowing } from './scrolling';
import { useChoice } from './useChoice';
import { Workbench } from './Workbench';
import { useBench, useIsNarrow } from './workbench';

/** Fetched when the workbench is opened for the first time. */
const Inspector = lazy(async () => ({ default: (await import('./inspector/Inspector')).Inspector }));

interface ThreadPageProps {
  user: User;
  thread: string;
  agent: string | undefined;
  /** The message to be shown first, from a search or a link. */
  message?: string | undefined;
  onToast?: (toast: Toast) => void;
}

export function ThreadPage(props: ThreadPageProps) {
  const conversation = useConversation(props.thread);
  if (conversation.load === 'failed' && conversation.messages.length === 0)
    return <Failed conversation={conversation} />;
  return <ThreadView {...props} conversation={conversation} />;
}

function ThreadView({ user, thread, agent, message, conversation }: ThreadPageProps & { conversation: Conversation }) {
  const { send, stop, adopt, messages, earlier, isRunning, isKept } = conversation;
  const lookBack = useLookBack(thread, adopt);
  const { excerpt } = lookBack;
  const first = excerpt ? excerpt.items[0] : (earlier[0] ?? messages[0]);
  const following = useFollowing(first?.id);
  const isOnline = useOnline();
  const composer = useRef<ComposerHandle>(null);
  const [failure, setFailure] = useState<string>();
  const { toEnd } = following;
  const own = useAgent(agent);
  const { choice, change } = useChoice(thread, setFailure);

  const goToEnd = useCallback(() => {
    lookBack.leave();
    requestAnimationFrame(toEnd);
  }, [lookBack.leave, toEnd]);

  const sendText = useCallback(
    async (id: string, text: string) => {
      setFailure(undefined);
      goToEnd();
      try {
        await send(id, text);
        composer.current?.accepted(id);
      } catch (error) {
        setFailure(`${strings.composer.notSent} ${describe(error)} ${strings.composer.back}`);
        composer.current?.giveBack(id, text);
      }
    },
    [send, goToEnd],
  );

  const stopNow = useCallback(() => stop().catch((error) => setFailure(describe(error))), [stop]);
  useEscape(isRunning, stopNow);
  useFirstMessage(thread, sendText);
  useJump(message, conversation, following.toMessage, lookBack.show, setFailure);
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at again whenever messages were read
  useEffect(() => {
    // It was accepted after all, and the page was reloaded before it heard so.
    const { sentAs } = readDraft(user.id, thread);
    if (sentAs && isKept(sentAs)) composer.current?.accepted(sentAs);
  }, [user.id, thread, messages, isKept]);

  const question = textOf(messages.findLast((one) => one.role === 'user'));
  const again = useCallback(() => {
    if (question) void sendText(newMessageId(), question);
  }, [question, sendText]);

  const room = useInspection(thread, conversation);
  const isNarrow = useIsNarrow();
  const deeds = useMemo(
    () => ({
      inspect: room.inspect,
      linkTo: (id: string) => new URL(threadPath(thread, id), location.href).href,
      again,
    }),
    [room.inspect, thread, again],
  );

  return (
    <DeedsProvider value={deeds}>
      <BarButton isOpen={room.bench.isOpen} onToggle={room.toggle} />
      <div className="room">
        <div className="room-main" inert={room.bench.isOpen && isNarrow}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <section className="scroller" ref={following.box} tabIndex={0} aria-label={strings.thread.region}>
            <Messages
              conversation={conversation}
              excerpt={excerpt}
              following={following}
              sign={own ? signOf(own) : (agent ?? strings.product)}
              onAgain={again}
              onOlder={excerpt ? lookBack.loadOlder : conversation.loadOlder}
              onNewer={lookBack.loadNewer}
              onEnd={goToEnd}
            />
          </section>
          <Composer
            user={user.id}
            thread={thread}
            isRunning={isRunning}
            isStopping={conversation.isStopping}
            handle={composer}
            onSend={(id, text) => void sendText(id, text)}
            onStop={() => void stopNow()}
            onCleared={() => setFailure(undefined)}
            // The models are asked for when the messages are there, which are what one waits for.
            choice={
              conversation.load === 'loading' ? null : <ModelChoice choice={choice} agent={agent} onChange={change} />
            }
            notice={
              <>
                {following.hasNewBelow && (
                  <button type="button" className="new-below" onClick={goToEnd}>
                    {strings.thread.newBelow}
                  </button>
                )}
                {!isOnline && !isRunning && (
                  <p className="notice calm" role="status">
                    {strings.errors.offline}
                  </p>
                )}
                {failure && (
                  <p className="notice danger" role="alert">
                    {failure}
                  </p>
                )}
              </>
            }
          />
        </div>
        {room.bench.isOpen && (
          <Workbench title={strings.inspector.title} bench={room.bench} onChange={room.changeBench}>
            <Suspense fallback={<div className="skeleton inspector-skeleton" />}>
              <Inspector turn={room.turn} turns={room.turns} stamp={room.stamp} onTurn={room.setTurn} />
            </Suspense>
          </Workbench>
        )}
      </div>
    </DeedsProvider>
  );
}

/** What the workbench shows: the run that was asked for, or the newest. */
function useInspection(thread: string, { earlier, messages, turn: follow }: Conversation) {
  const { bench, change: changeBench } = useBench(thread);
  const [chosen, setTurn] = useState<string>();
  const turns = useMemo(() => turnsOf([...earlier, ...messages], follow?.turn), [earlier, messages, follow?.turn]);
  const turn = chosen ?? turns.at(-1);
  const inspect = useCallback(
    (wanted: string) => {
      setTurn(wanted);
      changeBench({ isOpen: true });
    },
    [changeBench],
  );
  const toggle = useCallback(() => {
    setTurn(undefined);
    changeBench({ isOpen: !bench.isOpen });
  }, [bench.isOpen, changeBench]);
  useBenchKey(toggle);
  const label = bench.isOpen ? strings.workbench.close : strings.workbench.open;
  useCommands([{ id: 'workbench', label, keys: 'Ctrl/⌘ + J', act: toggle }]);
  return { bench, changeBench, turn, turns, stamp: stampOf(messages, turn, follow), setTurn, inspect, toggle };
}

function useBenchKey(toggle: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isKey =
        (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'j';
      if (!isKey || event.repeat || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      toggle();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [toggle]);
}

/** Stands in the page's bar, at the right. */
function BarButton({ isOpen, onToggle }: { isOpen: boolean; onToggle: () => void }) {
  const [bar, setBar] = useState<HTMLElement | null>(null);
  useEffect(() => setBar(document.getElementById('bar-actions')), []);
  if (!bar) return null;
  const label = isOpen ? strings.workbench.close : strings.workbench.open;
  return createPortal(
    <button
      type="button"
      className="icon-button"
      aria-label={label}
      title={label}
      aria-expanded={isOpen}
      onClick={onToggle}
    >
      <Panel />
    </button>,
    bar,
  );
}

function Failed({ conversation }: { conversation: Conversation }) {
  const { failure, reload } = conversation;
  if (failure instanceof ApiError && (failure.status === 404 || failure.status === 422)) {
    const action = { label: strings.thread.toNew, act: () => navigate('/') };
    return <PageState title={strings.thread.missing} hint={strings.thread.missingHint} action={action} />;
  }
  const hint = `${describe(failure)} ${strings.thread.kept}`;
  const action = { label: strings.retry, act: () => void reload() };
  return <PageState title={strings.thread.failed} hint={hint} action={action} role="alert" />;
}

/** Esc stops the answer, unless something that lies on top took the key. */
function useEscape(isRunning: boolean, stop: () => Promise<void>): void {
  useEffect(() => {
    if (!isRunning) return undefined;
    const press = (event: KeyboardEvent) => {
      if (
        event.key !== 'Escape' ||
        event.defaultPrevented ||
        event.isComposing ||
        document.querySelector('dialog[open]')
      )
        return;
      event.preventDefault();
      void stop();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [isRunning, stop]);
}

function useFirstMessage(thread: string, send: (id: string, text: string) => Promise<void>): void {
  useEffect(() => {
    const first = take(thread);
    if (first) void send(first.id, first.text);
  }, [thread, send]);
}

/** Goes to the message that the address names, once it is on the page. */
function useJump(
  message: string | undefined,
  { load }: Conversation,
  toMessage: (id: string) => boolean,
  show: (id: string) => Promise<boolean>,
  onFailure: (words: string) => void,
): void {
  const done = useRef<string>(undefined);
  const asked = useRef<string>(undefined);
  // After every rendering: other messages may be on the page.
  useEffect(() => {
    if (message === undefined || load !== 'loaded' || done.current === message) return;
    if (toMessage(message)) {
      done.current = message;
      return;
    }
    if (asked.current === message) return;
    asked.current = message;
    show(message).then(
      (isThere) => {
        if (!isThere) onFailure(strings.thread.notThere);
        done.current = isThere ? done.current : message;
      },
      (error) =>
        onFailure(error instanceof ApiError && error.status === 404 ? strings.thread.notThere : describe(error)),
    );
  });
}
