/** Figures as people read them. */

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** 1234567 → “1.2M” */
export const short = (count: number) => SHORT.format(count);

/** 2147483648 → “2.1 GB”; thousands, as downloads are counted. */
export function bytes(count: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const step = count < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

/** Millionths of a dollar → “$0.0042”, with as many places as it takes to be more than nothing. */
export function dollars(micros: number): string {
  const value = micros / 1_000_000;
  const places = value === 0 || value >= 1 ? 2 : Math.min(6, Math.max(2, 1 - Math.floor(Math.log10(value))));
  return `$${value.toLocaleString('en', { minimumFractionDigits: places, maximumFractionDigits: places })}`;
}
