/** How one turn went: its steps, model calls, tools, tokens, cost, times; and what the model was shown. */
import { useRef } from 'react';
import { describe } from '../../api/failure';
import type { Run } from '../../api/shapes';
import { CopyButton } from '../../shell/clipboard';
import { dollars } from '../../shell/figures';
import { ArrowDown, ArrowUp } from '../../shell/icons';
import { exact } from '../../shell/time';
import { strings } from '../../strings';
import { between, count, duration } from './figures';
import { SeenByModel } from './SeenByModel';
import { Beside, Step } from './Step';
import { useRun } from './useRun';

const words = strings.inspector;

interface InspectorProps {
  turn: string | undefined;
  /** Turns that can be looked at, the oldest first. */
  turns: string[];
  /** Changes whenever the turn does. */
  stamp: string;
  onTurn: (turn: string) => void;
}

export function Inspector({ turn, turns, stamp, onTurn }: InspectorProps) {
  const { run, failure, reload } = useRun(turn, stamp);
  if (turn === undefined) return <p className="workbench-note muted">{words.empty}</p>;
  return (
    <div className="inspector">
      <Places turn={turn} turns={turns} onTurn={onTurn} />
      {failure !== undefined && (
        <div className="notice warn" role="alert">
          {words.failed} {describe(failure)}
          <button type="button" className="text-button" onClick={reload}>
            {strings.retry}
          </button>
        </div>
      )}
      {run ? <Details run={run} /> : failure === undefined && <div className="skeleton inspector-skeleton" />}
    </div>
  );
}

/** From run to run. */
function Places({ turn, turns, onTurn }: { turn: string; turns: string[]; onTurn: (turn: string) => void }) {
  const at = turns.indexOf(turn);
  if (at < 0 || turns.length < 2) return null;
  const go = (to: number) => {
    const next = turns[to];
    if (next !== undefined) onTurn(next);
  };
  return (
    <div className="inspector-places">
      <button
        type="button"
        className="icon-button"
        aria-label={words.older}
        disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        <ArrowUp />
      </button>
      <button
        type="button"
        className="icon-button"
        aria-label={words.newer}
        disabled={at === turns.length - 1}
        onClick={() => go(at + 1)}
      >
        <ArrowDown />
      </button>
      <span className="small muted">{words.place(at + 1, turns.length)}</span>
    </div>
  );
}

function Details({ run }: { run: Run }) {
  return (
    <>
      <Summary run={run} />
      {typeof run.error?.message === 'string' && <p className="notice warn">{run.error.message}</p>}
      {run.steps.map((step) => (
        <Step key={step.step} step={step} hasOthers={run.steps.length > 1} />
      ))}
      {run.beside.length > 0 && <Beside attempts={run.beside} />}
      <SeenByModel turn={run.id} key={run.id} />
      <RunId id={run.id} />
    </>
  );
}

function Summary({ run }: { run: Run }) {
  const names = words.rows;
  const waited = between(run.accepted_at, run.started_at);
  const state = words.status[run.status] ?? run.status;
  const how = run.ended_by ? words.endedBy[run.ended_by] : undefined;
  const rows: [string, string, string?][] = [[names.state, state, how]];
  if (run.model) rows.push([names.model, run.model]);
  rows.push([names.begun, exact(run.accepted_at)]);
  if (run.duration_ms !== null) {
    rows.push([
      names.took,
      duration(run.duration_ms),
      waited !== undefined && waited >= 1000 ? words.waited(duration(waited)) : undefined,
    ]);
  }
  if (run.first_token_ms !== null) rows.push([names.firstToken, duration(run.first_token_ms)]);
  if (run.recoveries > 0) rows.push([names.recoveries, words.recovered(run.recoveries)]);
  rows.push(...usageRows(run.usage));
  return (
    <dl className="run-figures">
      {rows.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {more && <span className="muted"> {more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function usageRows(usage: Run['usage']): [string, string, string?][] {
  const names = words.rows;
  const rows: [string, string, string?][] = [];
  if (usage.input !== null) {
    rows.push([names.input, count(usage.input), usage.cached ? words.cached(count(usage.cached)) : undefined]);
  }
  if (usage.output !== null) {
    rows.push([
      names.output,
      count(usage.output),
      usage.reasoning ? words.reasoned(count(usage.reasoning)) : undefined,
    ]);
  }
  const isKnown = usage.cost_micros !== null;
  const price = usage.cost_micros === null ? words.unknownCost : dollars(usage.cost_micros);
  const more = isKnown && usage.unknown_cost > 0 ? words.unknownToo(usage.unknown_cost) : undefined;
  rows.push([names.cost, price, more ?? (isKnown && usage.is_estimated ? words.estimated : undefined)]);
  return rows;
}

function RunId({ id }: { id: string }) {
  const box = useRef<HTMLElement>(null);
  return (
    <div className="report">
      {words.id}
      <code ref={box}>{id}</code>
      <CopyButton of={box} className="text-button" />
    </div>
  );
}
