/** One step of a run: the model calls that were tried for it, and the tools that it asked for. */
import type { Run, RunAttempt, RunCall } from '../../api/shapes';
import { strings } from '../../strings';
import { between, count, duration } from './figures';

const words = strings.inspector;
/** States of a model call that did not bring an answer. */
const BAD = new Set(['failed', 'interrupted']);

export function Step({ step, hasOthers }: { step: Run['steps'][number]; hasOthers: boolean }) {
  const { attempts, calls } = step;
  return (
    <section className="run-step">
      {hasOthers && <h3>{words.step(step.step + 1)}</h3>}
      <ul>
        {attempts.map((attempt, index) => (
          <Attempt
            key={attempt.id}
            attempt={attempt}
            name={attempts.length > 1 ? words.attempt(index + 1) : words.call}
          />
        ))}
        {calls.map((call) => (
          <Call key={call.id} call={call} />
        ))}
      </ul>
    </section>
  );
}

/** Model calls that are no part of the answer. */
export function Beside({ attempts }: { attempts: RunAttempt[] }) {
  return (
    <section className="run-step">
      <h3>{words.beside}</h3>
      <ul>
        {attempts.map((attempt) => (
          <Attempt key={attempt.id} attempt={attempt} name={words.purpose[attempt.purpose] ?? attempt.purpose} />
        ))}
      </ul>
    </section>
  );
}

function Attempt({ attempt, name }: { attempt: RunAttempt; name: string }) {
  const { usage, first_token_ms: first, model_asked: asked, model_served: served } = attempt;
  const { state, outcome } = attempt;
  const how = state === 'failed' && outcome ? words.because(outcome) : (words.attemptState[state] ?? state);
  const took = between(attempt.started_at, attempt.ended_at);
  const facts = [
    asked,
    served && served !== asked && !asked.endsWith(`/${served}`) ? words.served(served) : undefined,
    usage.input !== null && usage.output !== null ? words.tokens(count(usage.input), count(usage.output)) : undefined,
    first === null ? undefined : words.firstAfter(duration(first)),
  ].filter(Boolean);
  return (
    <li className={BAD.has(state) ? 'run-line is-failed' : 'run-line'}>
      <span className="run-name">{name}</span>
      <span className="run-time">{took === undefined ? '' : duration(took)}</span>
      <span className="run-facts">{[how, ...facts].join(' · ')}</span>
    </li>
  );
}

function Call({ call }: { call: RunCall }) {
  const took = between(call.started_at, call.done_at);
  const facts = [
    words.callState[call.state] ?? call.state,
    call.hosted ? words.hosted : words.sizes(call.input_size, call.output_size),
  ];
  return (
    <li className={call.error_text ? 'run-line is-failed' : 'run-line'}>
      <span className="run-name">{strings.tools.named(call.name)}</span>
      <span className="run-time">{took === undefined ? '' : duration(took)}</span>
      <span className="run-facts">{call.error_text ?? facts.join(' · ')}</span>
    </li>
  );
}
