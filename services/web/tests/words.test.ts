import { expect, test } from 'vitest';
import { ApiError, describe as inWords } from '../src/api/failure';
import type { Thread } from '../src/api/types';
import { parseRoute } from '../src/router';
import { endOfSentences, spoken, withoutCode } from '../src/thread/Announcer';
import { momentOf } from '../src/thread/metadata';
import { groupThreads } from '../src/threads/groups';

const touched = (date: Date) => ({ id: date.toISOString(), touched_at: date.toISOString() }) as Thread;

test('threads are grouped by calendar days of the reader', () => {
  const now = new Date(2026, 2, 30, 0, 30);
  const days = [0, 1, 2, 6, 7, 30, 31].map((back) => new Date(2026, 2, 30 - back, 0, 10));
  const groups = groupThreads(days.map(touched), now);
  expect(groups.map((group) => [group.key, group.threads.length])).toEqual([
    ['today', 1],
    ['yesterday', 1],
    ['week', 2],
    ['month', 2],
    ['older', 1],
  ]);
});

test('each page has its address, and signing in leads nowhere else', () => {
  expect(parseRoute('/', '')).toEqual({ page: 'new' });
  expect(parseRoute('/t/abc', '')).toEqual({ page: 'thread', thread: 'abc' });
  expect(parseRoute('/admin/dead-letters', '')).toEqual({ page: 'dead-letters' });
  expect(parseRoute('/admin', '')).toEqual({ page: 'missing' });
  expect(parseRoute('/sign-in', '?next=%2Ft%2Fabc&invite=x')).toEqual({ page: 'sign-in', next: '/t/abc', invite: 'x' });
  for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', '/sign-in']) {
    expect(parseRoute('/sign-in', `?next=${encodeURIComponent(next)}`)).toMatchObject({ next: '/' });
  }
  expect(parseRoute('/nowhere', '')).toEqual({ page: 'missing' });
  expect(parseRoute('/t/%ff', '')).toEqual({ page: 'missing' });
});

test('what is read aloud ends with a sentence or a line', () => {
  expect(endOfSentences('One. Two is not')).toBe(5);
  expect(endOfSentences('No end yet')).toBe(0);
  expect(endOfSentences('A line\nand more')).toBe(7);
  expect(endOfSentences('He said “yes.” Then')).toBeGreaterThan(0);
});

test('the time of a message is in its ids', () => {
  const at = momentOf({ id: '01a22da0-430f-7ac2-b1f3-a0e36f0306fb', role: 'assistant', parts: [] });
  expect(at?.toISOString().slice(0, 10)).toBe('2026-11-30');
  expect(momentOf({ id: 'wphl5yh3dqox33tzazc9fh2c', role: 'user', parts: [] })).toBeUndefined();
});

test('when to come again is said once, in a unit that fits', () => {
  const busy = (message: string, seconds: number) => inWords(new ApiError(429, 'too_many_requests', message, seconds));
  expect(busy('Too many.', 20)).toBe('Too many. Try again in 20 s.');
  expect(busy('Too many.', 290)).toBe('Too many. Try again in 5 min.');
  expect(busy('Too many; try again in 20 s.', 20)).toBe('Too many; try again in 20 s.');
});

test('what is read aloud has no signs of markdown, and keeps those that mean something', () => {
  expect(spoken('## A title\n\n**12*12** is _144_, and `my_var > b` says so.')).toBe(
    'A title 12*12 is 144, and my_var > b says so.',
  );
  expect(spoken('> quoted\n| a | b |')).toBe('quoted a b');
});

test('code is named, not read aloud, also when it comes in pieces', () => {
  expect(withoutCode('Look:\n```js\nlet a;\n```\nDone.', false)).toEqual({
    text: 'Look:\nCode.\nDone.',
    isInCode: false,
  });
  expect(withoutCode('See\n```js\nlet a;\n', false)).toMatchObject({ isInCode: true });
  expect(withoutCode('let b;\n```\nAfter.', true)).toEqual({ text: 'After.', isInCode: false });
});
