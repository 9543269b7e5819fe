import { expect, test } from 'vitest';
import { fitness } from '../src/palette/fuzzy';

const best = (typed: string, names: string[]) =>
  names
    .map((name) => ({ name, score: fitness(typed, name) }))
    .filter(({ score }) => score !== undefined)
    .sort((one, other) => (other.score ?? 0) - (one.score ?? 0))
    .map(({ name }) => name);

test('the beginning of a word counts more than its middle', () => {
  expect(best('set', ['Reset the password', 'Settings'])).toEqual(['Settings', 'Reset the password']);
});

test('letters in order are enough, strewn ones are not', () => {
  expect(fitness('nwag', 'New agent')).toBeDefined();
  expect(fitness('gant', 'New agent')).toBeUndefined();
  expect(fitness('orvy', 'A story about every tiny thing')).toBeUndefined();
});

test('words fit in any order, whatever their case and accents', () => {
  expect(fitness('cafe TRIP', 'Trip to the Café')).toBeDefined();
  expect(fitness('trip zoo', 'Trip to the Café')).toBeUndefined();
});

test('of two that fit alike the shorter comes first', () => {
  expect(best('agents', ['Agents of a certain kind', 'Agents'])).toEqual(['Agents', 'Agents of a certain kind']);
});
