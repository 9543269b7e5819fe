/** Tool calls: one line each, opening to input and output; several in a row fold into one. */
import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import { getToolName } from 'ai';
import { Chevron, Wrench } from '../shell/icons';
import { strings } from '../strings';
import { cutOutput } from './outputs';
import { useLiveSeconds } from './Reasoning';

export type AnyToolPart = ToolUIPart | DynamicToolUIPart;

const words = strings.tools;
/** From so many calls in a row they share one line. */
const FOLD_FROM = 3;

export function ToolCalls({ parts, isLive }: { parts: AnyToolPart[]; isLive: boolean }) {
  const lines = parts.map((part) => <ToolCall key={part.toolCallId} part={part} isLive={isLive} />);
  if (parts.length < FOLD_FROM) return <div>{lines}</div>;
  const hasFailed = parts.some((part) => part.state === 'output-error');
  return (
    <details className={hasFailed ? 'line-details is-failed' : 'line-details'} open={isLive || undefined}>
      <summary>
        <Chevron />
        <Wrench />
        <span className="line-words">{words.several(parts.length)}</span>
      </summary>
      <div className="line-body">{lines}</div>
    </details>
  );
}

function ToolCall({ part, isLive }: { part: AnyToolPart; isLive: boolean }) {
  const isDone = part.state === 'output-available' || part.state === 'output-error' || part.state === 'output-denied';
  const isBusy = isLive && !isDone;
  const seconds = useLiveSeconds(isBusy);
  const hasFailed = part.state === 'output-error' || (!isDone && !isLive);
  return (
    <details className={hasFailed ? 'line-details is-failed' : 'line-details'}>
      <summary>
        <Chevron />
        <Wrench />
        <span className="line-words">{summary(part, isBusy)}</span>
        {seconds !== undefined && <span className="line-time">{words.took(seconds)}</span>}
      </summary>
      <div className="line-body">
        <Value label={words.input} value={part.input} />
        {part.state === 'output-error' ? (
          <>
            <Value label={words.error} value={part.errorText} />
            <p className="muted">{words.failedNext}</p>
          </>
        ) : (
          <Output value={part.state === 'output-available' ? part.output : undefined} />
        )}
      </div>
    </details>
  );
}

function summary(part: AnyToolPart, isBusy: boolean): string {
  const name = getToolName(part);
  if (part.state === 'output-error') return words.failed(name);
  if (part.state === 'output-available') return words.done(name, part.input);
  return isBusy ? words.running(name, part.input) : words.unfinished(name);
}

/** An output beyond the limit is shown in part; the whole is a file of its own. */
function Output({ value }: { value: unknown }) {
  const cut = cutOutput(value);
  if (!cut) return <Value label={words.output} value={value} />;
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
  const text =
    value === undefined ? words.noOutput : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return (
    <div>
      <div className="muted">{label}</div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre className="tool-value" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}
