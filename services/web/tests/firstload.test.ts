/** What a first visit costs: the built page, as the gateway sends it. */
import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const DIST = new URL('../dist/', import.meta.url);
const WORKER = new URL('sw.js', DIST);
/** In bytes, compressed. */
const MOST = 350_000;

test.skipIf(!existsSync(WORKER))('the first load is small', () => {
  const [, list = '[]'] = /SHELL = (\[.*?\])/.exec(readFileSync(WORKER, 'utf8')) ?? [];
  const files = (JSON.parse(list) as string[]).map((path) => (path === '/' ? 'index.html' : path.slice(1)));
  expect(files).toContain('index.html');
  expect(files.some((file) => file.endsWith('.js'))).toBe(true);
  expect(files.some((file) => file.endsWith('.css'))).toBe(true);
  const sizes = files.map((file) => gzipSync(readFileSync(new URL(file, DIST)), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MOST);
});
