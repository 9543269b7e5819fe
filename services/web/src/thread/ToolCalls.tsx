/** Tool calls: one line each, opening to input and output; several in a row fold into one. */
import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import { getToolName } from 'ai';
import { type ComponentType, useRef, useState } from 'react';
import { CopyButton } from '../shell/clipboard';
import { Chevron, Clock, Figures, Globe, Lens, Wrench } from '../shell/icons';
import { strings } from '../strings';
import { Lines } from './CodeBlock';
import { cutOutput } from './outputs';
import { useLiveSeconds } from './Reasoning';
import { SourceList } from './Sources';
import { sourcesIn } from './sources';

export type AnyToolPart = ToolUIPart | DynamicToolUIPart;

const words = strings.tools;
/** Shorter times are not worth a word. In s. */
const NOTICED = 0.1;
/** From so many calls in a row they share one line. */
const FOLD_FROM = 3;

const ICONS: Record<string, ComponentType> = {
  calculator: Figures,
  current_time: Clock,
  web_fetch: Globe,
  web_search: Lens,
};

export function ToolCalls({ parts, isLive }: { parts: AnyToolPart[]; isLive: boolean }) {
  const lines = parts.map((part) => <ToolCall key={part.toolCallId} part={part} isLive={isLive} />);
  if (parts.length < FOLD_FROM) return <div>{lines}</div>;
  const failed = parts.filter((part) => part.state === 'output-error').length;
  return (
    <details className={failed > 0 ? 'line-details is-failed' : 'line-details'} open={isLive || undefined}>
      <summary>
        <Chevron />
        <Wrench />
        <span className="line-words">{words.several(parts.length)}</span>
        {failed > 0 && <span className="line-time">{words.severalFailed(failed)}</span>}
      </summary>
      <div className="line-body">{lines}</div>
    </details>
  );
}

function ToolCall({ part, isLive }: { part: AnyToolPart; isLive: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const isDone = part.state === 'output-available' || part.state === 'output-error' || part.state === 'output-denied';
  const isBusy = isLive && !isDone;
  const seconds = useLiveSeconds(isBusy);
  const hasFailed = part.state === 'output-error' || (!isDone && !isLive);
  const Sign = ICONS[getToolName(part)] ?? Wrench;
  return (
    <details
      className={hasFailed ? 'line-details is-failed' : 'line-details'}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Chevron />
        <Sign />
        <span className="line-words">{summary(part, isBusy)}</span>
        {seconds !== undefined && seconds >= NOTICED && <span className="line-time">{words.took(seconds)}</span>}
      </summary>
      <div className="line-body">{isOpen && <Insides part={part} />}</div>
    </details>
  );
}

function summary(part: AnyToolPart, isBusy: boolean): string {
  const name = getToolName(part);
  if (part.state === 'output-error') return words.failed(name, part.input);
  if (part.state === 'output-available') return words.done(name, part.input);
  return isBusy ? words.running(name, part.input) : words.unfinished(name);
}

function Insides({ part }: { part: AnyToolPart }) {
  return (
    <>
      <Value label={words.input} value={part.input} />
      {part.state === 'output-error' ? (
        <>
          <Value label={words.error} value={part.errorText} />
          <p className="muted">{words.failedNext}</p>
        </>
      ) : (
        <Output value={part.state === 'output-available' ? part.output : undefined} />
      )}
    </>
  );
}

/** An output beyond the limit is shown in part; the whole is a file of its own. */
function Output({ value }: { value: unknown }) {
  const cut = cutOutput(value);
  if (!cut) {
    return (
      <>
        <SourceList sources={sourcesIn(value)} />
        <Value label={words.output} value={value} />
      </>
    );
  }
  return (
    <>
      <Value label={words.output} value={cut.text} />
      <p className="muted">
        {words.cut(cut.whole - cut.missing, cut.whole)}{' '}
        {cut.href ? (
          <a href={cut.href} download>
            {words.saveWhole}
          </a>
        ) : (
          words.restIsLost
        )}
      </p>
    </>
  );
}

function Value({ label, value }: { label: string; value: unknown }) {
  const box = useRef<HTMLPreElement>(null);
  const isThere = value !== undefined;
  return (
    <div>
      <div className="tool-head">
        <span className="muted">{label}</span>
        {isThere && <CopyButton of={box} className="text-button small" />}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre className="tool-value" tabIndex={0} ref={box}>
        <Lines text={isThere ? inFull(value) : words.noOutput} />
      </pre>
    </div>
  );
}

/** One text alone is shown as it is, not as JSON with its signs. */
function inFull(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
