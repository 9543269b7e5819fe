import { expect, test } from 'vitest';
import { bytes, dollars } from '../src/shell/figures';
import { dayBefore, daysBetween, roundUp } from '../src/usage/figures';

test('every day between two is there, also where the clock changes', () => {
  expect(daysBetween('2026-03-28', '2026-03-30')).toEqual(['2026-03-28', '2026-03-29', '2026-03-30']);
  expect(daysBetween('2026-03-30', '2026-03-28')).toEqual([]);
});

test('days are those of the calendar', () => {
  expect(dayBefore(1, new Date(2026, 2, 1, 0, 30))).toBe('2026-02-28');
});

test('a scale ends on a round number', () => {
  expect([0, 1, 3, 42, 51, 980].map(roundUp)).toEqual([1, 1, 5, 50, 100, 1000]);
});

test('small sums are not nothing', () => {
  expect([0, 4_200, 12, 1_234_567, 9_876_543_210].map(dollars)).toEqual([
    '$0.00',
    '$0.0042',
    '$0.000012',
    '$1.23',
    '$9,876.54',
  ]);
});

test('bytes as downloads are counted', () => {
  expect([7, 1500, 2_147_483_648].map(bytes)).toEqual(['7 bytes', '1.5 kB', '2.1 GB']);
});
