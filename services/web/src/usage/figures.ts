/** What the usage page shows of a row: one measure at a time. */
import type { Sums } from '../api/shapes';
import { dollars, short } from '../shell/figures';

export type Measure = 'tokens' | 'cost' | 'turns';

export const MEASURES: Measure[] = ['tokens', 'cost', 'turns'];

export function measured(row: Sums, measure: Measure): number {
  if (measure === 'turns') return row.turns;
  return measure === 'cost' ? row.cost_micros : row.input_tokens + row.output_tokens;
}

export const shownAs = (value: number, measure: Measure) => (measure === 'cost' ? dollars(value) : short(value));

/** A round number at or above the greatest value, for the top of a scale. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

/** The days from `from` to `to`, both included, as 2026-11-30; a day without rows is a day, too. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  const day = new Date(`${from}T00:00:00Z`);
  const last = new Date(`${to}T00:00:00Z`);
  while (day <= last && days.length < 1000) {
    days.push(day.toISOString().slice(0, 10));
    day.setUTCDate(day.getUTCDate() + 1);
  }
  return days;
}

/** The calendar day so many days before today, in the person's zone. */
export function dayBefore(days: number, now = new Date()): string {
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
