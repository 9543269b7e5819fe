/** Follows the end of the conversation while the reader is there, and leaves them alone when they are not. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** So near to the end still counts as being there. In CSS px. */
const NEAR = 48;
/** What grows so soon after a click was opened by it. In ms. */
const BY_HAND = 400;
/** Frames in which what is jumped to may still move, because its neighbours are laid out for the first time. */
const SETTLING = 6;

export interface Following {
  box: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  hasNewBelow: boolean;
  toEnd: () => void;
  /** Scrolls to a message that is on the page, and puts the focus on it; false if it is not there. */
  toMessage: (id: string) => boolean;
}

export function useFollowing(firstId: string | undefined): Following {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [hasNewBelow, setNewBelow] = useState(false);

  const toEnd = useCallback(() => {
    isAtEnd.current = true;
    setNewBelow(false);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);

  const toMessage = useCallback((id: string) => {
    const message = content.current?.querySelector<HTMLElement>(`[data-message="${CSS.escape(id)}"]`);
    if (!message) return false;
    isAtEnd.current = false;
    message.focus({ preventScroll: true });
    let frames = 0;
    const come = () => {
      message.scrollIntoView({ block: 'start' });
      frames += 1;
      if (frames < SETTLING) requestAnimationFrame(come);
    };
    come();
    return true;
  }, []);

  useEffect(() => {
    const scroller = box.current;
    if (!scroller || !content.current) return undefined;
    let top = scroller.scrollTop;
    const look = () => {
      const isNear = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
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
    let openedAt = Number.NEGATIVE_INFINITY;
    const open = (event: MouseEvent) => {
      const isOpening = event.target instanceof Element && event.target.closest('summary, [aria-expanded]') !== null;
      if (isOpening) openedAt = performance.now();
    };
    const grown = () => {
      const now = inner.offsetHeight;
      const isByHand = performance.now() - openedAt < BY_HAND;
      if (isByHand) isAtEnd.current = look();
      else if (isAtEnd.current) scroller.scrollTop = scroller.scrollHeight;
      else if (now > height && isLive(inner)) setNewBelow(true);
      height = now;
      top = scroller.scrollTop; // a text that became shorter moved it, and nobody else
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

  useEarlierAbove(box, content, isAtEnd, firstId);
  return { box, content, hasNewBelow, toEnd, toMessage };
}

/** Something is being written below. Else it grew because it was scrolled to, or because earlier messages came. */
function isLive(content: HTMLElement): boolean {
  return content.querySelector('[aria-busy="true"]') !== null;
}

/** Earlier messages were put above: what the reader looks at stays where it is. Browsers with scroll anchoring see to
 * that themselves, except for who stands at the very top. */
function useEarlierAbove(
  box: RefObject<HTMLDivElement | null>,
  content: RefObject<HTMLDivElement | null>,
  isAtEnd: RefObject<boolean>,
  firstId: string | undefined,
): void {
  const first = useRef<{ message: HTMLElement; top: number }>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: exactly when the first message is another one
  useLayoutEffect(() => {
    const scroller = box.current;
    const before = first.current;
    if (scroller && isAtEnd.current) scroller.scrollTop = scroller.scrollHeight;
    else if (scroller && before?.message.isConnected && !isAnchored(scroller))
      scroller.scrollTop += before.message.offsetTop - before.top;
    const message = content.current?.querySelector<HTMLElement>('[data-message]');
    first.current = message ? { message, top: message.offsetTop } : undefined;
  }, [firstId]);
}

function isAnchored(scroller: HTMLElement): boolean {
  return CSS.supports('overflow-anchor', 'auto') && scroller.scrollTop > 0;
}
