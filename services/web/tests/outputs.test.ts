import { expect, test } from 'vitest';
import { strings } from '../src/strings';
import { cutOutput } from '../src/thread/outputs';

const blob = '01a22e50-286f-7da9-a788-fa070c0284d1';

test('an output that was cut says where the whole is', () => {
  const output = { text: 'abc', left_out: { bytes: 97, of: 100, media_type: 'text/plain', blob } };
  expect(cutOutput(output)).toEqual({ text: 'abc', missing: 97, whole: 100, href: `/api/blobs/${blob}` });
});

test('what could not be kept is nowhere', () => {
  const output = { text: 'abc', left_out: { bytes: 97, of: 100, blob: null, why: 'The rest could not be kept.' } };
  expect(cutOutput(output)?.href).toBeUndefined();
  expect(cutOutput(output)?.text).toBe('abc');
});

test('an output that only looks alike leads nowhere else', () => {
  for (const foreign of ['../../evil', 'https://evil.example', `${blob}/../x`, '', 7]) {
    expect(cutOutput({ text: 'x', left_out: { bytes: 1, of: 2, blob: foreign } })?.href).toBeUndefined();
  }
  for (const whole of [
    null,
    'text',
    7,
    [],
    {},
    { text: 'x' },
    { text: 1, left_out: {} },
    { text: 'x', left_out: [] },
  ]) {
    expect(cutOutput(whole)).toBeUndefined();
  }
});

test('sizes are said in words', () => {
  expect(strings.tools.cut(261_000, 41_943_040)).toBe('The first 255 KB of 40 MB are shown.');
  expect(strings.tools.cut(12, 1023)).toBe('The first 12 bytes of 1023 bytes are shown.');
});
