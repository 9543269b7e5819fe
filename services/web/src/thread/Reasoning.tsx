/** Reasoning: one collapsed line that opens in place. */
import { useEffect, useState } from 'react';
import { Chevron } from '../shell/icons';
import { strings } from '../strings';

export function Reasoning({ text, isLive }: { text: string; isLive: boolean }) {
  const seconds = useLiveSeconds(isLive);
  if (text.trim() === '' && !isLive) return null;
  const words = isLive
    ? strings.reasoning.live
    : seconds === undefined
      ? strings.reasoning.done
      : strings.reasoning.took(seconds);
  return (
    <details className="line-details">
      <summary>
        <Chevron />
        <span className="line-words">{words}</span>
      </summary>
      <div className="line-body reasoning-text">{text}</div>
    </details>
  );
}

/** How long something was seen to be live, in seconds; undefined when its beginning was not seen. */
export function useLiveSeconds(isLive: boolean): number | undefined {
  const [began] = useState(() => (isLive ? performance.now() : undefined));
  const [seconds, setSeconds] = useState<number>();
  useEffect(() => {
    if (!isLive && began !== undefined) setSeconds((known) => known ?? (performance.now() - began) / 1000);
  }, [isLive, began]);
  return seconds;
}
