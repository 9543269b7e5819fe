/** Figures of a run as people read them. */

/** 840 → "840 ms", 8400 → "8.4 s", 84000 → "1 min 24 s" */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function between(from: string | null, to: string | null): number | undefined {
  if (from === null || to === null) return undefined;
  const milliseconds = Date.parse(to) - Date.parse(from);
  return milliseconds >= 0 ? milliseconds : undefined;
}

export const count = (tokens: number) => tokens.toLocaleString('en');
