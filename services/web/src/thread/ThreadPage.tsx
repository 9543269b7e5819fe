/** One thread: its messages, the foot, the composer. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, describe } from '../api/failure';
import type { User } from '../api/types';
import { navigate } from '../router';
import { useOnline } from '../shell/online';
import { PageState } from '../shell/PageState';
import { strings } from '../strings';
import { Announcer } from './Announcer';
import { Composer, type ComposerHandle } from './Composer';
import { type Conversation, useConversation } from './conversation';
import { newMessageId, readDraft } from './drafts';
import { Foot } from './Foot';
import { Message } from './Message';
import { momentOf, textOf } from './metadata';
import { take } from './outbox';
import { type Following, useFollowing } from './scrolling';

interface ThreadPageProps {
  user: User;
  thread: string;
  agent: string | undefined;
}

export function ThreadPage({ user, thread, agent }: ThreadPageProps) {
  const conversation = useConversation(thread);
  if (conversation.load === 'failed' && conversation.messages.length === 0)
    return <Failed conversation={conversation} />;
  return <ThreadView user={user} thread={thread} agent={agent} conversation={conversation} />;
}

function ThreadView({ user, thread, agent, conversation }: ThreadPageProps & { conversation: Conversation }) {
  const following = useFollowing(conversation.messages[0]?.id);
  const isOnline = useOnline();
  const composer = useRef<ComposerHandle>(null);
  const [failure, setFailure] = useState<string>();
  const { send, stop, messages, isRunning, isKept } = conversation;
  const { toEnd } = following;

  const sendText = useCallback(
    async (id: string, text: string) => {
      setFailure(undefined);
      requestAnimationFrame(toEnd);
      try {
        await send(id, text);
        composer.current?.accepted(id);
      } catch (error) {
        setFailure(`${strings.composer.notSent} ${describe(error)} ${strings.composer.back}`);
        composer.current?.giveBack(id, text);
      }
    },
    [send, toEnd],
  );

  const stopNow = useCallback(() => stop().catch((error) => setFailure(describe(error))), [stop]);
  useEscape(isRunning, stopNow);
  useFirstMessage(thread, sendText);
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at again whenever messages were read
  useEffect(() => {
    // It was accepted after all, and the page was reloaded before it heard so.
    const { sentAs } = readDraft(user.id, thread);
    if (sentAs && isKept(sentAs)) composer.current?.accepted(sentAs);
  }, [user.id, thread, messages, isKept]);

  const again = () => {
    const text = textOf(messages.findLast((message) => message.role === 'user'));
    if (text) void sendText(newMessageId(), text);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className="scroller" ref={following.box} tabIndex={0} aria-label={strings.thread.region}>
        <Messages
          conversation={conversation}
          following={following}
          agent={agent}
          onAgain={again}
          onOlder={() => void conversation.loadOlder().catch((error) => setFailure(describe(error)))}
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
        notice={
          <>
            {following.hasNewBelow && (
              <button type="button" className="new-below" onClick={toEnd}>
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
    </>
  );
}

interface MessagesProps {
  conversation: Conversation;
  following: Following;
  agent: string | undefined;
  onAgain: () => void;
  onOlder: () => void;
}

function Messages({ conversation, following, agent, onAgain, onOlder }: MessagesProps) {
  const { messages, isRunning, load, hasOlder } = conversation;
  const last = messages.at(-1);
  const isLive = isRunning && last?.role === 'assistant';
  return (
    <>
      {load === 'loading' && messages.length === 0 && <MessagesSkeleton />}
      <div className="messages" ref={following.content} role="log" aria-live="off" aria-label={strings.thread.messages}>
        {hasOlder && (
          <button type="button" className="text-button small older" onClick={onOlder}>
            {strings.thread.older}
          </button>
        )}
        {messages.map((message, index) => (
          <Message
            key={message.id}
            message={message}
            agent={agent}
            // A person's message has no time of its own: its answer was accepted in the same moment.
            moment={(momentOf(message) ?? momentOf(messages[index + 1]))?.getTime()}
            isLive={isLive && message === last}
            isLast={message === last}
          />
        ))}
        <Foot conversation={conversation} onAgain={onAgain} />
      </div>
      <Announcer id={last?.id ?? ''} text={last?.role === 'assistant' ? textOf(last) : ''} isLive={isLive} />
    </>
  );
}

function MessagesSkeleton() {
  return (
    <div className="messages-skeleton" aria-busy="true">
      <div className="skeleton short" />
      <div className="skeleton" />
    </div>
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
