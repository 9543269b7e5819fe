/** The figures behind the picture. */
import type { Sums, Usage, UsageBy } from '../api/shapes';
import { threadPath } from '../router';
import { dollars } from '../shell/figures';
import { Link } from '../shell/Link';
import { strings } from '../strings';

const words = strings.usage;

export function UsageTable({ usage, by }: { usage: Usage; by: UsageBy }) {
  const columns = words.columns;
  const rows = usage.items.filter((row) => row.turns > 0 || row.attempts > 0); // days without anything say nothing
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="table-scroll" aria-label={words.table} tabIndex={0}>
      <table className="figures">
        <thead>
          <tr>
            <th scope="col">{columns.label[by]}</th>
            <th scope="col">{columns.turns}</th>
            <th scope="col">{columns.input}</th>
            <th scope="col">{columns.cached}</th>
            <th scope="col">{columns.output}</th>
            <th scope="col">{columns.reasoning}</th>
            <th scope="col">{columns.cost}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">
                {by === 'thread' ? (
                  <Link to={threadPath(row.key)}>{row.label || words.unnamed}</Link>
                ) : (
                  row.label || row.key
                )}
              </th>
              <Cells of={row} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{words.total}</th>
            <Cells of={usage.total} />
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

function Cells({ of }: { of: Sums }) {
  return (
    <>
      {[of.turns, of.input_tokens, of.cached_tokens, of.output_tokens, of.reasoning_tokens].map((count, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
        <td key={column}>{count.toLocaleString('en')}</td>
      ))}
      <td>{costOf(of)}</td>
    </>
  );
}

function costOf({ cost_micros, unknown_cost }: Sums): string {
  if (unknown_cost > 0 && cost_micros === 0) return words.unknownCost;
  return unknown_cost > 0 ? words.atLeast(dollars(cost_micros)) : dollars(cost_micros);
}
