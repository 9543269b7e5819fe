/** Reads a growing text anew no more often than it can afford: the longer it takes, the longer it rests. */
import { useEffect, useReducer, useRef } from 'react';

/** Rest after a reading, as a multiple of what the reading took. */
const REST = 4;

interface Reading<Result> {
  text: string;
  read: (text: string) => Result;
  result: Result;
  /** When it was done, and how long it took. In ms. */
  at: number;
  cost: number;
}

/** What `read` makes of the text; while the text grows perhaps of a slightly older one. */
export function useReading<Result>(text: string, isGrowing: boolean, read: (text: string) => Result): Result {
  const last = useRef<Reading<Result>>(undefined);
  const [, lookAgain] = useReducer((count: number) => count + 1, 0);
  const now = performance.now();
  let reading = last.current?.read === read ? last.current : undefined;
  const rest = reading && isGrowing ? reading.at + reading.cost * REST - now : 0;
  if (!reading || (reading.text !== text && rest <= 0)) {
    const result = read(text);
    const at = performance.now();
    reading = { text, read, result, at, cost: at - now };
    last.current = reading;
  }
  const isBehind = reading.text !== text;
  useEffect(() => {
    if (!isBehind) return undefined;
    const timer = setTimeout(lookAgain, rest);
    return () => clearTimeout(timer);
  }, [isBehind, rest]);
  return reading.result;
}
