/** Reasoning: one collapsed line that opens in place. */
import { useEffect, useState } from 'react';
import { Chevron } from '../shell/icons';
import { strings } from '../strings';
import { Lines } from './CodeBlock';

interface ReasoningProps {
  text: string;
  isLive: boolean;
  /** How long it took as the server says, in seconds. */
  took: number | undefined;
}

export function Reasoning({ text, isLive, took }: ReasoningProps) {
  const seen = useLiveSeconds(isLive);
  const [isOpen, setOpen] = useState(false);
  if (text.trim() === '' && !isLive) return null;
  const seconds = took ?? seen;
  const words = isLive
    ? strings.reasoning.live
    : seconds === undefined
      ? strings.reasoning.done
      : strings.reasoning.took(seconds);
  return (
    <details className="line-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span className="line-words">{words}</span>
      </summary>
      {/* What nobody looks at need not be drawn while it grows. */}
      <div className="line-body reasoning-text">{isOpen && <Lines text={text} />}</div>
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
