/** Follows the end of the conversation while the reader is there, and leaves them alone when they are not. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** So near to the end still counts as being there. In CSS px. */
const NEAR = 48;

export interface Following {
  box: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  hasNewBelow: boolean;
  toEnd: () => void;
}

export function useFollowing(firstId: string | undefined): Following {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const fromBottom = useRef(0);
  const [hasNewBelow, setNewBelow] = useState(false);

  const toEnd = useCallback(() => {
    isAtEnd.current = true;
    setNewBelow(false);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);

  useEffect(() => {
    const scroller = box.current;
    if (!scroller || !content.current) return undefined;
    const note = () => {
      fromBottom.current = scroller.scrollHeight - scroller.scrollTop;
      isAtEnd.current = fromBottom.current - scroller.clientHeight < NEAR;
      if (isAtEnd.current) setNewBelow(false);
    };
    let height = content.current.offsetHeight;
    const grown = () => {
      const now = content.current?.offsetHeight ?? 0;
      if (isAtEnd.current) scroller.scrollTop = scroller.scrollHeight;
      else if (now > height) setNewBelow(true);
      height = now;
    };
    const observer = new ResizeObserver(grown);
    observer.observe(content.current);
    observer.observe(scroller);
    scroller.addEventListener('scroll', note, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener('scroll', note);
    };
  }, []);

  // Earlier messages were put above: what the reader looks at stays where it is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: exactly when the first message is another one
  useLayoutEffect(() => {
    const scroller = box.current;
    if (scroller && !isAtEnd.current) scroller.scrollTop = scroller.scrollHeight - fromBottom.current;
  }, [firstId]);

  return { box, content, hasNewBelow, toEnd };
}
