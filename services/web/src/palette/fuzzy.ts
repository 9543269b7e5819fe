/** How well typed letters fit a name: all must occur in order; whole words and beginnings of words count most. */

export interface Match {
  score: number;
  /** Places of the fitting characters in the name. */
  places: number[];
}

const fold = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** None if the name does not fit. Several typed words may fit in any order. */
export function match(typed: string, name: string): Match | undefined {
  const text = fold(name);
  let score = 0;
  const places: number[] = [];
  for (const word of fold(typed).split(/\s+/).filter(Boolean)) {
    const found = matchWord(word, text);
    if (!found) return undefined;
    score += found.score;
    places.push(...found.places);
  }
  // Of two names that fit alike, the shorter one was meant.
  return { score: score - text.length / 100, places };
}

function matchWord(word: string, text: string): Match | undefined {
  const whole = wholeAt(word, text);
  if (whole >= 0) {
    const places = [...word].map((_, index) => whole + index);
    return { score: word.length * (isBeginning(text, whole) ? 4 : 2), places };
  }
  const places: number[] = [];
  let score = 0;
  let at = -1;
  for (const letter of word) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    score += next === at + 1 || isBeginning(text, next) ? 1 : 0.25;
    places.push(next);
    at = next;
  }
  // Letters strewn over a long text fit by accident.
  return score >= word.length / 2 ? { score, places } : undefined;
}

/** Where the word stands, if anywhere at the beginning of one. */
function wholeAt(word: string, text: string): number {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) if (isBeginning(text, at)) return at;
  return text.indexOf(word);
}

const isBeginning = (text: string, at: number) => at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '');
