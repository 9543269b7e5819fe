/** The model and the effort that a thread asks for: shown at once, kept by the server. */
import { useCallback, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import { strings } from '../strings';
import { refreshThreads, useThread } from '../threads/threads';
import type { Choice } from './ModelChoice';

export const NO_CHOICE: Choice = { model: null, effort: null };

export function useChoice(thread: string, onFailure: (words: string | undefined) => void) {
  const stored = useThread(thread) as Partial<Choice> | undefined;
  const [chosen, setChosen] = useState<Partial<Choice>>({});
  const choice: Choice = { model: stored?.model ?? null, effort: stored?.effort ?? null, ...chosen };
  const change = useCallback(
    (next: Partial<Choice>) => {
      // Another model may know other efforts.
      const wish = next.model === undefined ? next : { effort: null, ...next };
      setChosen((now) => ({ ...now, ...wish }));
      api.changeThread(thread, wish).then(
        () => void refreshThreads(),
        (error) => {
          setChosen({});
          onFailure(strings.choice.failed(describe(error)));
        },
      );
    },
    [thread, onFailure],
  );
  return { choice, change };
}
