import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { sourcesIn, sourcesOf } from '../src/thread/sources';

test('sources are addresses of the web, each once, with the first title that is known', () => {
  const parts = [
    { type: 'source-url', sourceId: '1', url: 'https://example.org/a' },
    { type: 'source-url', sourceId: '2', url: 'javascript:alert(1)' },
    { type: 'source-url', sourceId: '3', url: 'file:///etc/passwd', title: 'x' },
    {
      type: 'tool-web_search',
      toolCallId: 'c',
      state: 'output-available',
      input: {},
      output: {
        sources: [{ url: 'https://example.org/a', title: 'A page' }, { url: 'http://example.org/b' }, 7, null],
      },
    },
  ];
  const message = { id: 'm', role: 'assistant', parts } as unknown as UIMessage;
  expect(sourcesOf(message).map(({ url, title }) => [url.href, title])).toEqual([
    ['https://example.org/a', 'A page'],
    ['http://example.org/b', ''],
  ]);
});

test('a tool may return anything', () => {
  for (const output of [null, 'text', 7, [], { sources: 'none' }, { sources: [{ url: 3 }] }])
    expect(sourcesIn(output)).toEqual([]);
});
