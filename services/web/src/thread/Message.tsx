/** One message: a person's is a soft block, the agent's is plain text on the page. */
import { isToolUIPart, type UIMessage } from 'ai';
import { memo, useState } from 'react';
import { Glyph } from '../shell/Glyph';
import { strings } from '../strings';
import { EndNote } from './Foot';
import { Markdown } from './Markdown';
import { textOf } from './metadata';
import { Reasoning } from './Reasoning';
import { type AnyToolPart, ToolCalls } from './ToolCalls';

/** Longer messages of a person are folded. In characters. */
const LONG = 4000;

interface MessageProps {
  message: UIMessage;
  agent: string | undefined;
  /** When it was made, in ms since 1970. */
  moment: number | undefined;
  /** It is being written right now. */
  isLive: boolean;
  /** The newest one: the foot of the page says how it ended. */
  isLast: boolean;
}

export const Message = memo(function Message({ message, agent, moment, isLive, isLast }: MessageProps) {
  const time = moment === undefined ? null : <Time moment={moment} />;
  if (message.role === 'user') {
    return (
      <article className="message is-user" aria-label={strings.thread.you}>
        <OwnText text={textOf(message)} />
        {time}
      </article>
    );
  }
  return (
    <article className="message" aria-label={strings.thread.agent} aria-busy={isLive}>
      <div className="message-head">
        <Glyph seed={agent ?? strings.product} size={20} />
        {time}
      </div>
      {groupParts(message).map((group, index) => (
        // Parts are only ever added at the end.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Part key={index} group={group} isLive={isLive} />
      ))}
      {!isLast && <EndNote message={message} />}
    </article>
  );
});

/** A pasted book is shown by its beginning. */
function OwnText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(text.length <= LONG);
  if (isWhole) return <div>{text}</div>;
  return (
    <div>
      {`${text.slice(0, LONG)}…`}
      <button type="button" className="text-button small" onClick={() => setWhole(true)}>
        {strings.thread.showAll(text.length)}
      </button>
    </div>
  );
}

function Time({ moment }: { moment: number }) {
  const date = new Date(moment);
  return (
    <time className="message-time small muted" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}
    </time>
  );
}

type Group = { kind: 'text' | 'reasoning'; text: string; isOpen: boolean } | { kind: 'tools'; parts: AnyToolPart[] };

/** What is shown of the parts, tool calls in a row as one group. */
function groupParts(message: UIMessage): Group[] {
  const groups: Group[] = [];
  for (const part of message.parts) {
    const last = groups.at(-1);
    if (part.type === 'text' && part.text !== '') {
      groups.push({ kind: 'text', text: part.text, isOpen: part.state === 'streaming' });
    } else if (part.type === 'reasoning') {
      groups.push({ kind: 'reasoning', text: part.text, isOpen: part.state === 'streaming' });
    } else if (isToolUIPart(part)) {
      if (last?.kind === 'tools') last.parts.push(part);
      else groups.push({ kind: 'tools', parts: [part] });
    }
  }
  return groups;
}

function Part({ group, isLive }: { group: Group; isLive: boolean }) {
  if (group.kind === 'tools') return <ToolCalls parts={group.parts} isLive={isLive} />;
  const isGrowing = isLive && group.isOpen;
  if (group.kind === 'reasoning') return <Reasoning text={group.text} isLive={isGrowing} />;
  return <Markdown text={group.text} isLive={isGrowing} />;
}
