import { expect, test } from 'vitest';
import { withFormulas } from '../src/thread/math';

test('formulas are told from money', () => {
  for (const money of [
    'costs $5 and $10',
    'US$5 and US$6',
    '$1,000.50 vs $2,000 ($3)',
    'a=$b&c=$d',
    '`$x$`',
    '```\n$y$\n```',
  ])
    expect(withFormulas(money), money).toBeUndefined();
  expect(withFormulas('$x^2$ is cheaper than $5')).toBe('$$x^2$$ is cheaper than \\$5');
  expect(withFormulas('from $5/mo to $x$.')).toBe('from \\$5/mo to $$x$$.');
});

test('every way to write a formula becomes one', () => {
  expect(withFormulas('\\(a+b\\) and \\[c\\]')).toBe('$$a+b$$ and $$c$$');
  expect(withFormulas('\\[\nE = mc^2\n\\]\nmore')).toBe('$$\nE = mc^2\n$$\nmore');
  expect(withFormulas('$$E=mc^2$$')).toBe('$$\nE=mc^2\n$$');
  expect(withFormulas('**$x$** and f($x$)')).toBe('**$$x$$** and f($$x$$)');
});
