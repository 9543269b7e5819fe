/** The foot of the newest message: what the turn is doing, or how it ended, in words. */
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import { strings } from '../strings';
import { useListedThread } from '../threads/threads';
import type { Conversation } from './conversation';
import { factsOf } from './metadata';

const words = strings.foot;
/** How long it is said that another runner has taken over. In ms. */
const PICKED_UP_FOR = 6000;

interface FootProps {
  conversation: Conversation;
  thread: string;
  onAgain: () => void;
}

export function Foot({ conversation, thread, onAgain }: FootProps) {
  const { turn, isRunning, messages } = conversation;
  const last = messages.at(-1);
  const isOnline = useOnline();
  const isBehind = useListedThread(thread)?.status === 'waiting';
  const isPickedUp = useForAWhile(isRunning && turn?.isPickedUp === true, PICKED_UP_FOR);
  if (isRunning) {
    const isAway = turn?.phase === 'reconnecting' || !isOnline;
    const text = runningWords(conversation, last, { isOnline, isBehind, isPickedUp });
    return (
      <div className="foot" role="status">
        {text && <span className={isAway ? 'foot-dot is-away' : 'foot-dot'} />}
        {text}
      </div>
    );
  }
  return <Ending conversation={conversation} last={last} onAgain={onAgain} />;
}

interface Surroundings {
  isOnline: boolean;
  isBehind: boolean;
  isPickedUp: boolean;
}

function runningWords({ turn, isStopping }: Conversation, last: UIMessage | undefined, around: Surroundings): string {
  if (!around.isOnline) return words.offline;
  if (turn?.phase === 'reconnecting') return last?.role === 'user' && !turn.turn ? words.resending : words.reconnecting;
  if (isStopping) return words.stopping;
  if (turn?.phase === 'sending') return words.sending;
  if (turn?.phase === 'waiting') return around.isBehind ? words.behind : words.waiting;
  if (around.isPickedUp) return words.pickedUp;
  const part = last?.role === 'assistant' ? last.parts.at(-1) : undefined;
  if (part && isToolUIPart(part) && part.state !== 'output-available') return words.using(getToolName(part));
  // While text or reasoning grows, that itself says what is happening.
  return (part?.type === 'text' || part?.type === 'reasoning') && part.state === 'streaming' ? '' : words.thinking;
}

function Ending({
  conversation,
  last,
  onAgain,
}: {
  conversation: Conversation;
  last: UIMessage | undefined;
  onAgain: () => void;
}) {
  const facts = factsOf(last);
  const { turn } = conversation;
  const error = turn?.error ?? (facts.status === 'failed' ? (facts.error ?? words.failed) : undefined);
  if (error !== undefined) {
    return (
      <div className="notice warn" role="alert">
        {error}
        <button type="button" className="text-button" onClick={onAgain}>
          {words.again}
        </button>
      </div>
    );
  }
  const text =
    turn?.isAborted || facts.status === 'stopped'
      ? words.stopped
      : facts.ended_by === 'length'
        ? words.length
        : facts.ended_by === 'step_limit'
          ? words.stepLimit
          : undefined;
  return text && last?.role === 'assistant' ? <div className="foot">{text}</div> : null;
}

function useOnline(): boolean {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const change = () => setOnline(navigator.onLine);
    window.addEventListener('online', change);
    window.addEventListener('offline', change);
    return () => {
      window.removeEventListener('online', change);
      window.removeEventListener('offline', change);
    };
  }, []);
  return isOnline;
}

/** True from the moment it becomes so, for so many ms at most. */
function useForAWhile(isNow: boolean, milliseconds: number): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    if (!isNow) return undefined;
    setOver(false);
    const timer = setTimeout(() => setOver(true), milliseconds);
    return () => clearTimeout(timer);
  }, [isNow, milliseconds]);
  return isNow && !isOver;
}
