/** Keys that work anywhere on the page. */
import { useEffect, useRef } from 'react';

export interface PageKeys {
  newThread: () => void;
  toggleColumn: () => void;
  showKeys: () => void;
  showPalette: () => void;
}

export function usePageKeys(keys: PageKeys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = actionOf(event);
      if (!action || event.repeat) return;
      event.preventDefault();
      latest.current[action]();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}

function actionOf(event: KeyboardEvent): keyof PageKeys | undefined {
  const isCommand = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (isCommand && event.shiftKey && key === 'o') return 'newThread';
  if (isCommand && !event.shiftKey && !event.altKey && key === 'b') return 'toggleColumn';
  if (isCommand && !event.shiftKey && !event.altKey && key === 'k') return 'showPalette';
  if (!isCommand && event.key === '?' && !isTyping(event.target)) return 'showKeys';
  return undefined;
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
