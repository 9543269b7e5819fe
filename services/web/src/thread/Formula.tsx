/** One formula; its source until it is drawn, and where it cannot be. */
import { useEffect, useLayoutEffect, useRef, useState } from 'react';

type Katex = typeof import('./katex');

let loading: Promise<Katex> | undefined;
let loaded: Katex | undefined;

/** KaTeX is as large as all else together, so it comes when it is wanted. */
export function useKatex(isWanted: boolean): Katex | undefined {
  const [katex, setKatex] = useState(loaded);
  useEffect(() => {
    if (!isWanted || loaded) {
      setKatex(loaded);
      return undefined;
    }
    let isCurrent = true;
    loading ??= import('./katex');
    loading.then(
      (module) => {
        loaded = module;
        if (isCurrent) setKatex(module);
      },
      // The source of the formula is readable, too; the next one tries again.
      () => {
        loading = undefined;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [isWanted]);
  return isWanted ? katex : undefined;
}

export function Formula({ tex, isDisplay }: { tex: string; isDisplay: boolean }) {
  const katex = useKatex(true);
  const box = useRef<HTMLSpanElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  useLayoutEffect(() => {
    if (!katex || !box.current) return;
    try {
      box.current.replaceChildren(katex.draw(tex, isDisplay));
      setDrawn(true);
    } catch {
      // Not a formula that KaTeX can read: its source stays.
      box.current.replaceChildren();
      setDrawn(false);
    }
  }, [katex, tex, isDisplay]);
  const className = isDisplay ? 'formula is-display' : 'formula';
  return (
    // What scrolls must be reachable by keyboard.
    <span className={className} tabIndex={isDisplay ? 0 : undefined}>
      <span ref={box} />
      {!isDrawn && <code>{tex}</code>}
    </span>
  );
}
