/** How well typed letters fit a name: all must occur in order; whole words and beginnings of words count most. */

const fold = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** The higher the better; none if the name does not fit. Several typed words may fit in any order. */
export function fitness(typed: string, name: string): number | undefined {
  const text = fold(name);
  let sum = 0;
  for (const word of fold(typed).split(/\s+/).filter(Boolean)) {
    const score = fitOfWord(word, text);
    if (score === undefined) return undefined;
    sum += score;
  }
  // Of two names that fit alike, the shorter one was meant.
  return sum - text.length / 100;
}

function fitOfWord(word: string, text: string): number | undefined {
  if (isBeginningOfSome(word, text)) return word.length * 4;
  if (text.includes(word)) return word.length * 2;
  let score = 0;
  let at = -1;
  for (const letter of word) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    score += next === at + 1 || isBeginning(text, next) ? 1 : 0.25;
    at = next;
  }
  // Letters strewn over a long text fit by accident.
  return score >= word.length / 2 ? score : undefined;
}

function isBeginningOfSome(word: string, text: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) if (isBeginning(text, at)) return true;
  return false;
}

const isBeginning = (text: string, at: number) => at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '');
