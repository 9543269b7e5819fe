/** The foot of the newest message: what the turn is doing, or how it ended, in words. */
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import { useEffect, useRef, useState } from 'react';
import { CopyButton } from '../shell/clipboard';
import { onHint } from '../shell/hints';
import { useOnline } from '../shell/online';
import { strings } from '../strings';
import type { Conversation } from './conversation';
import { factsOf } from './metadata';

const words = strings.foot;
/** How long it is said that another runner has taken over. In ms. */
const PICKED_UP_FOR = 6000;
/** Without new text for so long it is said that there is none: its runner may be gone. In ms. */
const QUIET_AFTER = 2000;

interface FootProps {
  conversation: Conversation;
  onAgain: () => void;
}

export function Foot({ conversation, onAgain }: FootProps) {
  const { turn, isRunning } = conversation;
  const isOnline = useOnline();
  const isPickedUp = useForAWhile(isRunning && turn?.isPickedUp === true, PICKED_UP_FOR);
  const isOrphaned = useOrphaned(turn?.turn, isPickedUp);
  const isQuiet = useQuiet(isRunning && isOnline && turn?.phase === 'streaming', conversation.messages.at(-1));
  if (!isRunning) return <Ending conversation={conversation} onAgain={onAgain} />;
  const isAway = turn?.phase === 'reconnecting' || !isOnline;
  const text = runningWords(conversation, isOnline, isPickedUp, isQuiet && isOrphaned) || (isQuiet ? words.quiet : '');
  return (
    <div className="foot" role="status">
      {text && <span className={isAway ? 'foot-dot is-away' : 'foot-dot'} />}
      {text}
    </div>
  );
}

function runningWords(
  { turn, isStopping, messages }: Conversation,
  isOnline: boolean,
  isPickedUp: boolean,
  isOrphaned: boolean,
): string {
  const last = messages.at(-1);
  if (!isOnline) return words.offline;
  if (turn?.phase === 'reconnecting') return last?.role === 'user' && !turn.turn ? words.resending : words.reconnecting;
  if (isStopping) return words.stopping;
  if (turn?.phase === 'sending') return words.sending;
  if (turn?.phase === 'waiting') return turn.place === undefined ? words.waiting : words.inLine(turn.place);
  if (isPickedUp) return words.pickedUp;
  if (isOrphaned) return words.orphaned;
  const part = last?.role === 'assistant' ? last.parts.at(-1) : undefined;
  if (part && isToolUIPart(part) && !part.state.startsWith('output-')) return words.using(getToolName(part));
  // While text or reasoning grows, that itself says what is happening.
  return (part?.type === 'text' || part?.type === 'reasoning') && part.state === 'streaming' ? '' : words.thinking;
}

/** How the newest turn ended, where that is worth a word; an error comes with what to do about it. */
function Ending({ conversation, onAgain }: FootProps) {
  const last = conversation.messages.at(-1);
  if (last?.role !== 'assistant') return null;
  const error = failureOf(last) ?? liveError(conversation, last);
  if (error === undefined) return <EndNote message={last} />;
  return (
    <div className="ending">
      <div className="notice warn" role="alert">
        {error}
        <button type="button" className="text-button" onClick={onAgain}>
          {words.again}
        </button>
      </div>
      <ReportId turn={factsOf(last).turn ?? conversation.turn?.turn} />
    </div>
  );
}

/** The words of the stream, for a message that carries none of its own. */
function liveError({ turn }: Conversation, last: UIMessage): string | undefined {
  const { turn: known } = factsOf(last);
  return known === undefined || known === turn?.turn ? turn?.error : undefined;
}

function failureOf(message: UIMessage): string | undefined {
  const { status, error } = factsOf(message);
  return status === 'failed' ? (error?.message ?? words.failed) : undefined;
}

/** The turn's id, under which the logs have it: to be named to whoever runs this place. */
function ReportId({ turn }: { turn: string | undefined }) {
  const box = useRef<HTMLElement>(null);
  if (turn === undefined) return null;
  return (
    <div className="report">
      {words.reportId}
      <code ref={box}>{turn}</code>
      <CopyButton of={box} className="text-button" />
    </div>
  );
}

/** One quiet line under a message that did not simply finish. */
export function EndNote({ message }: { message: UIMessage }) {
  const { status, ended_by, turn } = factsOf(message);
  const text =
    failureOf(message) ??
    (status === 'stopped'
      ? words.stopped
      : ended_by === 'length'
        ? words.length
        : ended_by === 'step_limit'
          ? words.stepLimit
          : undefined);
  if (!text) return null;
  return (
    <div className="ending">
      <div className="foot">{text}</div>
      {status === 'failed' && <ReportId turn={turn} />}
    </div>
  );
}

/** Whether the server has put the turn back into the line while it was being watched: its runner is gone. */
function useOrphaned(turn: string | undefined, isPickedUp: boolean): boolean {
  const [requeued, setRequeued] = useState<string>();
  useEffect(
    () =>
      onHint((hint) => {
        if (hint.kind === 'turn' && hint.turn_id === turn) setRequeued(hint.status === 'queued' ? turn : undefined);
      }),
    [turn],
  );
  return turn !== undefined && requeued === turn && !isPickedUp;
}

/** Whether a message that is being written has not grown for a while. */
function useQuiet(isGrowing: boolean, message: UIMessage | undefined): boolean {
  const size = isGrowing && message?.role === 'assistant' ? `${message.parts.length} ${lengthOf(message)}` : undefined;
  const [quietAt, setQuietAt] = useState<string>();
  useEffect(() => {
    if (size === undefined) return undefined;
    const timer = setTimeout(() => setQuietAt(size), QUIET_AFTER);
    return () => clearTimeout(timer);
  }, [size]);
  return size !== undefined && quietAt === size;
}

function lengthOf({ parts }: UIMessage): number {
  const last = parts.at(-1);
  return last?.type === 'text' || last?.type === 'reasoning' ? last.text.length : 0;
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
