/** Says when something comes near to what the reader sees; one observer for each box that scrolls. */
import { type RefObject, useEffect, useState } from 'react';

/** So far outside of the box counts as near. In CSS px. */
const MARGIN = 1500;

const observers = new WeakMap<Element, IntersectionObserver>();
const listeners = new WeakMap<Element, () => void>();

/** True from the moment it is near for the first time. Without a box that scrolls it always is. */
export function useNear(target: RefObject<Element | null>, isWanted: boolean): boolean {
  const [isNear, setNear] = useState(!isWanted);
  useEffect(() => {
    if (isNear) return undefined;
    const element = target.current;
    const box = element?.closest('.scroller');
    if (!element || !box) {
      setNear(true);
      return undefined;
    }
    const observer = observerOf(box);
    listeners.set(element, () => setNear(true));
    observer.observe(element);
    return () => {
      listeners.delete(element);
      observer.unobserve(element);
    };
  }, [target, isNear]);
  return isNear;
}

function observerOf(box: Element): IntersectionObserver {
  const known = observers.get(box);
  if (known) return known;
  const made = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) listeners.get(entry.target)?.();
    },
    { root: box, rootMargin: `${MARGIN}px 0px` },
  );
  observers.set(box, made);
  return made;
}
