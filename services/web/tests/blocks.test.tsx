import { renderToStaticMarkup } from 'react-dom/server';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { expect, test } from 'vitest';
import { fenceOf, grow, PIECE, type Split, splitBlocks } from '../src/thread/blocks';

const TEXTS = [
  'One paragraph\nof two lines.\n\nAnother one.',
  '# Title\n\nText\n\n## Part\n\n- a\n- b\n\n  more of b\n\n- c\n\nAfter the list.',
  '1. one\n\n2. two\n\n   ```js\n   const a = 1;\n\n   const b = 2;\n   ```\n\n3. three\n\nEnd',
  '```python\na = 1\n\n\nb = 2\n```\n\nAfter.\n\n~~~~\n```\n\nnot closed by that\n~~~~\n\nEnd.',
  '> quoted\n\n> quoted again\n\ntext\n\n    indented code\n\n    more of it\n\ntext',
  '| a | b |\n| - | - |\n| 1 | 2 |\n\nText with [a link][1] and a note[^n].\n\n[1]: https://example.org\n\n[^n]: The note.',
  '* * *\n\ntext\n\n- [ ] open\n- [x] done\n\n***\n\n<b>no\n\nhtml</b>\n\nEnd',
  'An open fence\n\n```ts\nlet x;\n\nlet y;',
];

/** Loose white space between blocks is not what is compared. */
function html(markdown: string): string {
  return renderToStaticMarkup(<ReactMarkdown remarkPlugins={[remarkGfm]}>{markdown}</ReactMarkdown>)
    .replace(/\n+/g, '\n')
    .trim();
}

test('the blocks together look like the whole, at every moment of writing', () => {
  for (const text of TEXTS) {
    for (let end = 1; end <= text.length; end += 1) {
      const sofar = text.slice(0, end);
      const together = splitBlocks(sofar).map(html).join('\n').replace(/\n+/g, '\n').trim();
      expect(together, JSON.stringify(sofar)).toBe(html(sofar));
    }
  }
});

test('a growing text changes its last block only', () => {
  const text = TEXTS[1] ?? '';
  let before = splitBlocks(text.slice(0, 1));
  for (let end = 2; end <= text.length; end += 1) {
    const now = splitBlocks(text.slice(0, end));
    expect(now.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    before = now;
  }
});

test('a text that grew is split as one that came at once', () => {
  for (const text of [...TEXTS, 'Text:\n```ts\n<b>let x</b>;\n\n[a]: b\n```\nAfter it.\n\n$$\na\n\nb\n$$\n\nEnd']) {
    let split: Split | undefined;
    for (let end = 1; end <= text.length; end += 1) {
      split = grow(split, text.slice(0, end));
      expect(split.blocks).toEqual(splitBlocks(text.slice(0, end)));
    }
  }
});

test('a paragraph without an end is cut between words, and its pieces stay as they are', () => {
  const text = 'some words of no weight '.repeat(2000);
  const blocks = splitBlocks(text);
  expect(blocks.join('')).toBe(text);
  expect(Math.max(...blocks.map((block) => block.length))).toBeLessThanOrEqual(2 * PIECE);
  expect(blocks.every((block) => block.endsWith(' '))).toBe(true);
  const longer = grow(grow(undefined, text), `${text}and [more]: <b> of it`);
  expect(longer.blocks.slice(0, blocks.length - 1)).toEqual(blocks.slice(0, -1));
  expect(longer.isWhole).toBe(false);
});

test('a block of nothing but code is read without a parser', () => {
  expect(fenceOf('```python\na = 1\n\nb = 2\n```')).toEqual({ language: 'python', code: 'a = 1\n\nb = 2' });
  expect(fenceOf('~~~~\n```\n~~~\n~~~~')).toMatchObject({ code: '```\n~~~' });
  expect(fenceOf('```ts\nlet x;\nlet')).toEqual({ language: 'ts', code: 'let x;\nlet' });
  expect(fenceOf('```inline``` text')).toBeUndefined();
  expect(fenceOf('text')).toBeUndefined();
});
