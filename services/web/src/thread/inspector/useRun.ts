/** One turn's details, read again whenever the turn has moved on. */
import { useEffect, useReducer, useState } from 'react';
import { api } from '../../api/client';
import type { Run } from '../../api/shapes';

/** What a turn does in one moment is read once. In ms. */
const PAUSE = 150;

export function useRun(
  turn: string | undefined,
  stamp: string,
): { run: Run | undefined; failure: unknown; reload: () => void } {
  const [run, setRun] = useState<Run>();
  const [failure, setFailure] = useState<unknown>();
  const [wish, reload] = useReducer((count: number) => count + 1, 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp and the wish say when to look again
  useEffect(() => {
    if (turn === undefined) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      api.turn(turn).then(
        (answer) => {
          if (!isCurrent) return;
          setRun(answer);
          setFailure(undefined);
        },
        (reason) => isCurrent && setFailure(reason),
      );
    }, PAUSE);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [turn, stamp, wish]);
  return { run: run?.id === turn ? run : undefined, failure, reload };
}
