/** What was used, by day, agent, model or thread: a picture, the figures, and a file for a spreadsheet. */
import { useId, useState } from 'react';
import { api, query } from '../api/client';
import type { Usage, UsageBy } from '../api/shapes';
import type { User } from '../api/types';
import { Loaded, useLoad } from '../shell/load';
import { strings } from '../strings';
import { dayBefore, MEASURES, type Measure } from './figures';
import { BarPlot, DayPlot } from './Plots';
import { UsageTable } from './UsageTable';

const words = strings.usage;
/** Titles of threads are private: of everyone's usage, people are the finest. */
const OWN: UsageBy[] = ['day', 'agent', 'model', 'thread'];
const EVERYONES: UsageBy[] = ['day', 'agent', 'model', 'user'];

export function UsagePage({ user }: { user: User }) {
  const [by, setBy] = useState<UsageBy>('day');
  const [from, setFrom] = useState(dayBefore(29));
  const [to, setTo] = useState(dayBefore(0));
  const [isEveryones, setEveryones] = useState(false);
  const [measure, setMeasure] = useState<Measure>('tokens');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const asked = { from, to, by, zone, everyone: isEveryones ? 'true' : '' };
  const usage = useLoad(JSON.stringify(asked), () => api.usage(asked));
  const file = `/api/usage?${query({ ...asked, format: 'csv' })}`;

  function showEveryones(isOn: boolean) {
    setEveryones(isOn);
    if (!(isOn ? EVERYONES : OWN).includes(by)) setBy('day');
  }

  return (
    <div className="scroller">
      <div className="page">
        <div className="usage-bar">
          <Segments
            label={words.by}
            values={isEveryones ? EVERYONES : OWN}
            names={words.ways}
            value={by}
            onChange={setBy}
          />
          <Period
            from={from}
            to={to}
            onChange={(first, last) => {
              setFrom(first);
              setTo(last);
            }}
          />
          {user.is_admin && (
            <label className="choice">
              <input type="checkbox" checked={isEveryones} onChange={(event) => showEveryones(event.target.checked)} />
              {words.everyone}
            </label>
          )}
        </div>
        <Loaded of={usage} onRetry={usage.reload} failed={words.failed} rows={2}>
          {(loaded) =>
            loaded.total.turns === 0 && loaded.total.attempts === 0 ? (
              <p className="empty" role="status">
                {words.none}
              </p>
            ) : (
              <Figures
                usage={loaded}
                by={by}
                from={from}
                to={to}
                file={file}
                measure={measure}
                onMeasure={setMeasure}
              />
            )
          }
        </Loaded>
      </div>
    </div>
  );
}

interface FiguresProps {
  usage: Usage;
  by: UsageBy;
  from: string;
  to: string;
  file: string;
  measure: Measure;
  onMeasure: (measure: Measure) => void;
}

function Figures({ usage, by, from, to, file, measure, onMeasure }: FiguresProps) {
  const label = words.plot(words.measures[measure], words.ways[by]);
  return (
    <>
      <Segments label={words.show} values={MEASURES} names={words.measures} value={measure} onChange={onMeasure} />
      {by === 'day' ? (
        <DayPlot items={usage.items} measure={measure} label={label} from={from} to={to} />
      ) : (
        <BarPlot items={usage.items} measure={measure} label={label} />
      )}
      {usage.total.unknown_cost > 0 && <p className="notice calm">{words.unknown(usage.total.unknown_cost)}</p>}
      <UsageTable usage={usage} by={by} />
      {usage.left_out > 0 && <p className="small muted">{words.leftOut(usage.left_out)}</p>}
      <p className="usage-foot">
        <a className="button" href={file} download>
          {words.csv}
        </a>
        {by === 'day' && <span className="small muted">{words.zone(usage.zone)}</span>}
      </p>
    </>
  );
}

interface SegmentsProps<Value extends string> {
  label: string;
  values: readonly Value[];
  names: Record<Value, string>;
  value: Value;
  onChange: (value: Value) => void;
}

function Segments<Value extends string>({ label, values, names, value, onChange }: SegmentsProps<Value>) {
  const group = useId();
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{label}</legend>
      {values.map((one) => (
        <label key={one} className="segment">
          <input type="radio" name={group} checked={one === value} onChange={() => onChange(one)} />
          {names[one]}
        </label>
      ))}
    </fieldset>
  );
}

type PeriodKey = keyof typeof words.periods;

function Period({ from, to, onChange }: { from: string; to: string; onChange: (from: string, to: string) => void }) {
  const [key, setKey] = useState<PeriodKey>('30');
  const id = useId();
  const choose = (next: PeriodKey) => {
    setKey(next);
    if (next !== 'own') onChange(dayBefore(Number(next) - 1), dayBefore(0));
  };
  return (
    <div className="usage-period">
      <label className="visually-hidden" htmlFor={id}>
        {words.period}
      </label>
      <select id={id} className="select" value={key} onChange={(event) => choose(event.target.value as PeriodKey)}>
        {(Object.keys(words.periods) as PeriodKey[]).map((one) => (
          <option key={one} value={one}>
            {words.periods[one]}
          </option>
        ))}
      </select>
      {key === 'own' && (
        <>
          <input
            type="date"
            className="select"
            aria-label={words.from}
            max={to}
            value={from}
            onChange={(event) => event.target.value && onChange(event.target.value, to)}
          />
          <input
            type="date"
            className="select"
            aria-label={words.to}
            min={from}
            value={to}
            onChange={(event) => event.target.value && onChange(from, event.target.value)}
          />
        </>
      )}
    </div>
  );
}
