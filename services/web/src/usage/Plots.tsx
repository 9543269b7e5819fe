/** Pictures of the usage. Who cannot see them has the table below, which holds the same. */
import { type RefObject, useEffect, useRef, useState } from 'react';
import type { UsageRow } from '../api/shapes';
import { daysBetween, type Measure, measured, roundUp, shownAs } from './figures';

interface PlotProps {
  items: UsageRow[];
  measure: Measure;
  label: string;
}

/** Drawn in the size that it has on the screen, so that its words keep theirs. */
function useWidth(): [RefObject<SVGSVGElement | null>, number] {
  const box = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(720);
  useEffect(() => {
    if (!box.current) return undefined;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(240, entry?.contentRect.width ?? 0)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return [box, width];
}

const HEIGHT = 200;
const LEFT = 48;
const BOTTOM = 24;
const TOP = 8;
/** Half as wide as “11-30”. */
const HALF_A_DAY = 18;

/** A column for each day, also for those on which nothing happened. */
export function DayPlot({ items, measure, label, from, to }: PlotProps & { from: string; to: string }) {
  const [box, whole] = useWidth();
  const rows = new Map(items.map((row) => [row.key, row]));
  const days = daysBetween(from, to);
  const values = days.map((day) => {
    const row = rows.get(day);
    return row ? measured(row, measure) : 0;
  });
  const most = roundUp(Math.max(...values));
  const width = (whole - LEFT) / Math.max(1, days.length);
  const gap = width > 6 ? 2 : 0;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const every = Math.ceil((days.length * 72) / (whole - LEFT));
  return (
    <svg ref={box} className="plot" viewBox={`0 0 ${whole} ${HEIGHT}`} height={HEIGHT} role="img" aria-label={label}>
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line className="plot-line" x1={LEFT} x2={whole} y1={y(part * most)} y2={y(part * most)} />
          <text className="plot-text" x={LEFT - 8} y={y(part * most) + 4} textAnchor="end">
            {shownAs(part * most, measure)}
          </text>
        </g>
      ))}
      {days.map((day, index) => {
        const value = values[index] ?? 0;
        const x = LEFT + index * width;
        return (
          <g key={day}>
            <title>{`${day}: ${shownAs(value, measure)}`}</title>
            <rect className="plot-hit" x={x} y={TOP} width={width} height={HEIGHT - TOP - BOTTOM} />
            {value > 0 && (
              <rect
                className="plot-bar"
                x={x + gap / 2}
                y={Math.min(y(value), y(0) - 1)}
                width={Math.max(1, width - gap)}
                height={Math.max(1, y(0) - y(value))}
                rx={Math.min(2, width / 4)}
              />
            )}
            {index % every === 0 && x + width / 2 + HALF_A_DAY <= whole && (
              <text className="plot-text" x={x + width / 2} y={HEIGHT - 6} textAnchor="middle">
                {day.slice(5)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

const ROW = 32;
/** More bars would be a table. */
const BARS = 12;

/** As much of a name as fits; the whole one is in the title and in the table. */
function shortened(label: string, width: number): string {
  const most = Math.floor(width / 7);
  return label.length > most ? `${label.slice(0, most - 1)}…` : label;
}

/** A bar for each agent, model or thread, the greatest first. */
export function BarPlot({ items, measure, label }: PlotProps) {
  const [box, whole] = useWidth();
  const rows = [...items].sort((one, other) => measured(other, measure) - measured(one, measure)).slice(0, BARS);
  const most = Math.max(1, ...rows.map((row) => measured(row, measure)));
  const room = whole - 96;
  return (
    <svg
      ref={box}
      className="plot"
      viewBox={`0 0 ${whole} ${rows.length * ROW}`}
      height={rows.length * ROW}
      role="img"
      aria-label={label}
    >
      {rows.map((row, index) => {
        const value = measured(row, measure);
        const width = Math.max(2, (room * value) / most);
        return (
          <g key={row.key}>
            <title>{`${row.label}: ${shownAs(value, measure)}`}</title>
            <text className="plot-text" x={0} y={index * ROW + 11}>
              {shortened(row.label, whole)}
            </text>
            <rect className="plot-bar" x={0} y={index * ROW + 16} width={width} height={10} rx={2} />
            <text className="plot-text" x={width + 8} y={index * ROW + 25}>
              {shownAs(value, measure)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
