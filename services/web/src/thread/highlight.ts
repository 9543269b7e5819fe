/** Asks a worker to colour code; remembers what it said, so that coming back shows it at once. */
import { useEffect, useState } from 'react';

/** Classes of highlight.js, and the text that has them. */
export type Run = [kind: string, text: string];

export interface Asked {
  id: number;
  language: string;
  code: string;
}

export interface Coloured {
  id: number;
  runs: Run[];
}

/** Longer code is shown without colours. In characters. */
const MOST = 40_000;
/** Blocks that are remembered. */
const REMEMBERED = 200;

const known = new Map<string, Run[]>();
const waiting = new Map<number, { key: string; tell: (runs: Run[]) => void }>();
let worker: Worker | undefined;
let serial = 0;

/** The colours of a block; undefined while there are none, or none are wanted. */
export function useHighlight(language: string, code: string, isWanted: boolean): Run[] | undefined {
  const key = `${language}\n${code}`;
  const isAsked = isWanted && language !== '' && code.length <= MOST && typeof Worker !== 'undefined';
  const [coloured, setColoured] = useState<{ key: string; runs: Run[] }>();
  const runs = isAsked ? (known.get(key) ?? (coloured?.key === key ? coloured.runs : undefined)) : undefined;
  const isKnown = runs !== undefined;
  useEffect(() => {
    if (!isAsked || isKnown) return undefined;
    return ask(language, code, key, (found) => setColoured({ key, runs: found }));
  }, [isAsked, isKnown, language, code, key]);
  return runs && runs.length > 0 ? runs : undefined;
}

function ask(language: string, code: string, key: string, tell: (runs: Run[]) => void): () => void {
  serial += 1;
  const id = serial;
  waiting.set(id, { key, tell });
  worker ??= start();
  worker.postMessage({ id, language: language.toLowerCase(), code } satisfies Asked);
  return () => waiting.delete(id);
}

function start(): Worker {
  const made = new Worker(new URL('./highlight.worker.ts', import.meta.url), { type: 'module' });
  made.addEventListener('message', ({ data }: MessageEvent<Coloured>) => {
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (!asked) return;
    known.set(asked.key, data.runs);
    const oldest = known.keys().next().value;
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
    asked.tell(data.runs);
  });
  made.addEventListener('error', () => {
    // Without colours the code is all there; the next block tries again.
    made.terminate();
    waiting.clear();
    worker = undefined;
  });
  return made;
}
