/** The messages of a thread, oldest first: what was read of the earlier ones, the newest, and the foot. */
import type { UIMessage } from 'ai';
import { memo, type ReactNode, startTransition, useEffect, useRef, useState } from 'react';
import { strings } from '../strings';
import { Announcer } from './Announcer';
import type { Conversation } from './conversation';
import { Foot } from './Foot';
import type { Excerpt } from './lookback';
import { likelyHeight, Message } from './Message';
import { momentOf, textOf } from './metadata';
import type { Following } from './scrolling';

/** The newest messages that surely fill a screen are drawn at once; those above them follow in the next pause. In CSS
 * px of estimated height. */
const AT_ONCE = 2000;
/** Of what stands before so many of the newest, only what is looked at is laid out. */
const NEWEST = 12;
/** Earlier messages are asked for so long before the reader comes to them. In CSS px. */
const AHEAD = 3000;

interface MessagesProps {
  conversation: Conversation;
  /** A far part of the thread, shown instead of its end. */
  excerpt: Excerpt | undefined;
  following: Following;
  sign: string;
  onAgain: () => void;
  onOlder: () => Promise<void>;
  onNewer: () => Promise<void>;
  onEnd: () => void;
}

export function Messages(props: MessagesProps) {
  const { conversation, excerpt, following, sign, onAgain, onOlder, onNewer, onEnd } = props;
  const { messages, earlier, isRunning, load, hasOlder } = conversation;
  const isWhole = useInAPause(messages.length > 2);
  const last = messages.at(-1);
  const isLive = isRunning && last?.role === 'assistant';
  const newest = isWhole ? messages : messages.slice(firstAtOnce(messages));
  return (
    <>
      {load === 'loading' && messages.length === 0 && <MessagesSkeleton />}
      <div className="messages" ref={following.content} role="log" aria-live="off" aria-label={strings.thread.messages}>
        {excerpt ? (
          <>
            {excerpt.older !== null && <More key={excerpt.older} words={strings.thread.older} onMore={onOlder} />}
            <List messages={excerpt.items} sign={sign} />
            <div className="looking-back">
              {strings.thread.lookingBack}
              <button type="button" className="text-button" onClick={onEnd}>
                {strings.thread.toNewest}
              </button>
            </div>
            {excerpt.newer !== null && <More key={excerpt.newer} words={strings.thread.newer} onMore={onNewer} />}
          </>
        ) : (
          <>
            {hasOlder && isWhole && <More key={`${earlier.length}`} words={strings.thread.older} onMore={onOlder} />}
            {isWhole && <List messages={earlier} sign={sign} next={messages[0]} />}
            {newest.map((message, index) => (
              <Message
                key={message.id}
                message={message}
                sign={sign}
                moment={momentIn(message, newest[index + 1])}
                isLive={isLive && message === last}
                isLast={message === last}
                isPast={index < newest.length - NEWEST}
              />
            ))}
            <Foot conversation={conversation} onAgain={onAgain} />
          </>
        )}
      </div>
      <Announcer id={last?.id ?? ''} text={last?.role === 'assistant' ? textOf(last) : ''} isLive={isLive} />
    </>
  );
}

/** Messages that nothing happens to any more: not looked at again while the newest one grows. */
const List = memo(function List({ messages, sign, next }: { messages: UIMessage[]; sign: string; next?: UIMessage }) {
  return messages.map((message, index) => (
    <Message
      key={message.id}
      message={message}
      sign={sign}
      moment={momentIn(message, messages[index + 1] ?? next)}
      isLive={false}
      isLast={false}
      isPast
    />
  ));
});

function firstAtOnce(messages: UIMessage[]): number {
  let height = 0;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    height += message ? likelyHeight(message) : 0;
    if (height > AT_ONCE) return index;
  }
  return 0;
}

/** A person's message has no time of its own: its answer was accepted in the same moment. */
function momentIn(message: UIMessage, next: UIMessage | undefined): number | undefined {
  return (momentOf(message) ?? momentOf(next))?.getTime();
}

/** Asks for more when it comes near; a button for whoever gets there first, or when asking has failed. */
function More({ words, onMore }: { words: string; onMore: () => Promise<void> }) {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle');
  const latest = useRef(onMore);
  latest.current = onMore;

  function ask() {
    setState('busy');
    latest.current().catch(() => setState('failed'));
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page that is missing
  useEffect(() => {
    const scroller = box.current?.closest('.scroller');
    if (!box.current || !scroller) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        ask();
      },
      { root: scroller, rootMargin: `${AHEAD}px 0px` },
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  let note: ReactNode = null;
  if (state === 'failed') note = <span className="small muted">{strings.thread.olderFailed}</span>;
  return (
    <div className="more" ref={box}>
      {note}
      <button type="button" className="text-button small" disabled={state === 'busy'} onClick={ask}>
        {state === 'busy' ? strings.loading : state === 'failed' ? strings.retry : words}
      </button>
    </div>
  );
}

/** True once there is time: the first picture of the page does not wait for all of it. */
function useInAPause(isMuch: boolean): boolean {
  const [isTime, setTime] = useState(false);
  useEffect(() => {
    if (isMuch && !isTime) startTransition(() => setTime(true));
  }, [isMuch, isTime]);
  return isTime || !isMuch;
}

function MessagesSkeleton() {
  return (
    <div className="messages-skeleton" aria-busy="true">
      <div className="skeleton short" />
      <div className="skeleton" />
    </div>
  );
}
