/** Threads by age, in the person's own zone: today, yesterday, this week, month, older. */
import type { Thread } from '../api/types';
import { strings } from '../strings';

type Group = keyof typeof strings.threads.groups;

export interface ThreadGroup {
  key: Group;
  label: string;
  threads: Thread[];
}

const ORDER: Group[] = ['today', 'yesterday', 'week', 'month', 'older'];

export function groupThreads(threads: Thread[], now = new Date()): ThreadGroup[] {
  const groups = new Map<Group, Thread[]>();
  for (const thread of threads) {
    const key = groupOf(new Date(thread.touched_at), now);
    groups.set(key, [...(groups.get(key) ?? []), thread]);
  }
  return ORDER.filter((key) => groups.has(key)).map((key) => ({
    key,
    label: strings.threads.groups[key],
    threads: groups.get(key) ?? [],
  }));
}

function groupOf(touched: Date, now: Date): Group {
  if (touched >= daysBefore(now, 0)) return 'today';
  if (touched >= daysBefore(now, 1)) return 'yesterday';
  if (touched >= daysBefore(now, 6)) return 'week';
  if (touched >= daysBefore(now, 30)) return 'month';
  return 'older';
}

/** Midnight of the day so many calendar days ago; built from the calendar, so that a 23- or 25-hour day counts as one. */
function daysBefore(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
}
