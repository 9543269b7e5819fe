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
    let top = scroller.scrollTop;
    const look = () => {
      fromBottom.current = scroller.scrollHeight - scroller.scrollTop;
      const isNear = fromBottom.current - scroller.clientHeight < NEAR;
      if (isNear) setNewBelow(false);
      return isNear;
    };
    // Only who goes up leaves the end. That it is far away says nothing: between our own scrolling and the event of it
    // the text may have grown, by a screen and more in a tab that nobody looked at.
    const note = () => {
      const isNear = look();
      if (isNear || scroller.scrollTop < top) isAtEnd.current = isNear;
      top = scroller.scrollTop;
    };
    const inner = content.current;
    let height = inner.offsetHeight;
    // A line that the reader opens makes the page longer, too: it stays where they look, and is nothing new.
    let isByHand = false;
    const open = (event: MouseEvent) => {
      isByHand = event.target instanceof Element && event.target.closest('summary') !== null;
    };
    const grown = () => {
      const now = inner.offsetHeight;
      if (isByHand) isAtEnd.current = look();
      else if (isAtEnd.current) scroller.scrollTop = scroller.scrollHeight;
      else if (now > height) setNewBelow(true);
      height = now;
      top = scroller.scrollTop; // a text that became shorter moved it, and nobody else
      isByHand = false;
    };
    const observer = new ResizeObserver(grown);
    observer.observe(inner);
    observer.observe(scroller);
    scroller.addEventListener('scroll', note, { passive: true });
    inner.addEventListener('click', open);
    return () => {
      observer.disconnect();
      inner.removeEventListener('click', open);
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
