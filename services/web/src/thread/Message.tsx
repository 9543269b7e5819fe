/** One message: a person's is a soft block, the agent's is plain text on the page. */
import { type FileUIPart, isToolUIPart, type UIMessage } from 'ai';
import { memo, useMemo, useState } from 'react';
import { Glyph } from '../shell/Glyph';
import { strings } from '../strings';
import { Lines } from './CodeBlock';
import { FileLine } from './FileLine';
import { EndNote } from './Foot';
import { Markdown } from './Markdown';
import { MessageActions } from './MessageActions';
import { factsOf, textOf, tookOf } from './metadata';
import { Reasoning } from './Reasoning';
import { Sources } from './Sources';
import { sourcesOf } from './sources';
import { type AnyToolPart, ToolCalls } from './ToolCalls';

/** Longer messages of a person are folded. In characters. */
const LONG = 4000;
/** Lines of a person's message that are shown before it is folded. */
const MANY_LINES = 40;

interface MessageProps {
  message: UIMessage;
  /** The seed of the agent's glyph. */
  sign: string;
  /** When it was made, in ms since 1970. */
  moment: number | undefined;
  /** It is being written right now. */
  isLive: boolean;
  /** The newest one: the foot of the page says how it ended. */
  isLast: boolean;
  /** Not among the newest: laid out only where it is looked at. */
  isPast: boolean;
}

export const Message = memo(function Message({ message, sign, moment, isLive, isLast, isPast }: MessageProps) {
  const time = moment === undefined ? null : <Time moment={moment} />;
  const { status, model } = factsOf(message);
  if (message.role === 'user') {
    return (
      <article className="message is-user" aria-label={strings.thread.you} data-message={message.id} tabIndex={-1}>
        <div
          className={isPast ? 'message-body is-past' : 'message-body'}
          style={isPast ? placeFor(message) : undefined}
        >
          <OwnText text={textOf(message)} />
          <Files message={message} />
        </div>
        <div className="message-side">
          {time}
          <MessageActions message={message} canTryAgain={false} />
        </div>
      </article>
    );
  }
  const canTryAgain = isLast && !isLive && (status === 'failed' || status === 'stopped');
  return (
    <article
      className={isLive ? 'message is-live' : 'message'}
      aria-label={strings.thread.agent}
      aria-busy={isLive}
      data-message={message.id}
      tabIndex={-1}
    >
      <div className="message-head">
        <Glyph seed={sign} size={20} />
        <span className="message-about">
          {time}
          {model && <span className="message-model">{model}</span>}
        </span>
        {!isLive && <MessageActions message={message} canTryAgain={canTryAgain} />}
      </div>
      <div className={isPast ? 'message-body is-past' : 'message-body'} style={isPast ? placeFor(message) : undefined}>
        <Parts message={message} isLive={isLive} />
        {!isLive && <SourcesOf message={message} />}
      </div>
      {!isLast && <EndNote message={message} />}
    </article>
  );
});

/** How high a message may become, in CSS px: some 60 characters in a line of 26 px, and as much around it. */
export function likelyHeight(message: UIMessage): number {
  const characters = message.parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 60), 0);
  const shown = message.role === 'user' ? Math.min(characters, LONG) : characters;
  return 26 * Math.ceil(shown / 60 + 1);
}

/** What is far off is not laid out, and the scroll bar should not jump when it is. */
function placeFor(message: UIMessage) {
  return { containIntrinsicBlockSize: `auto ${likelyHeight(message)}px` };
}

/** A pasted book is shown by its beginning. */
function OwnText({ text }: { text: string }) {
  const end = useMemo(() => foldAt(text), [text]);
  const [isWhole, setWhole] = useState(false);
  if (end === undefined) return <div>{text}</div>;
  return (
    <div>
      {isWhole ? <Lines text={text} /> : `${text.slice(0, end)}…`}
      <div>
        <button type="button" className="text-button small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? strings.thread.showLess : strings.thread.showAll(text.length)}
        </button>
      </div>
    </div>
  );
}

/** Where a long text is folded; undefined for one that is not. */
function foldAt(text: string): number | undefined {
  let end = -1;
  for (let line = 0; line < MANY_LINES; line += 1) {
    end = text.indexOf('\n', end + 1);
    if (end < 0 || end > LONG) break;
  }
  const least = end < 0 ? LONG : Math.min(end, LONG);
  return least < text.length ? least : undefined;
}

function Time({ moment }: { moment: number }) {
  const date = new Date(moment);
  return (
    <time className="message-time" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}
    </time>
  );
}

function Files({ message }: { message: UIMessage }) {
  const files = message.parts.filter((part) => part.type === 'file');
  // Files of one message have no ids, and never change their places.
  // biome-ignore lint/suspicious/noArrayIndexKey: see above
  return files.map((file, index) => <FileLine key={index} file={file} />);
}

function SourcesOf({ message }: { message: UIMessage }) {
  const sources = useMemo(() => sourcesOf(message), [message]);
  return <Sources sources={sources} />;
}

type Group =
  | { kind: 'text'; text: string; isOpen: boolean }
  | { kind: 'reasoning'; text: string; isOpen: boolean; took: number | undefined }
  | { kind: 'tools'; parts: AnyToolPart[] }
  | { kind: 'file'; file: FileUIPart };

/** What is shown of the parts, tool calls in a row as one group. */
function groupParts(message: UIMessage): Group[] {
  const groups: Group[] = [];
  for (const part of message.parts) {
    const last = groups.at(-1);
    if (part.type === 'text' && part.text !== '') {
      groups.push({ kind: 'text', text: part.text, isOpen: part.state === 'streaming' });
    } else if (part.type === 'reasoning') {
      groups.push({ kind: 'reasoning', text: part.text, isOpen: part.state === 'streaming', took: tookOf(part) });
    } else if (part.type === 'file') {
      groups.push({ kind: 'file', file: part });
    } else if (isToolUIPart(part)) {
      if (last?.kind === 'tools') last.parts.push(part);
      else groups.push({ kind: 'tools', parts: [part] });
    }
  }
  return groups;
}

function Parts({ message, isLive }: { message: UIMessage; isLive: boolean }) {
  return groupParts(message).map((group, index) => (
    // Parts are only ever added at the end.
    // biome-ignore lint/suspicious/noArrayIndexKey: see above
    <Part key={index} group={group} isLive={isLive} />
  ));
}

function Part({ group, isLive }: { group: Group; isLive: boolean }) {
  if (group.kind === 'tools') return <ToolCalls parts={group.parts} isLive={isLive} />;
  if (group.kind === 'file') return <FileLine file={group.file} />;
  const isGrowing = isLive && group.isOpen;
  if (group.kind === 'reasoning') return <Reasoning text={group.text} isLive={isGrowing} took={group.took} />;
  return <Markdown text={group.text} isLive={isGrowing} />;
}
