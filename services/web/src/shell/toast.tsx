/** One short message at the foot of the page, with at most one action; gone after 10 seconds. */
import { type ReactNode, useCallback, useEffect, useState } from 'react';

export interface Toast {
  words: string;
  action?: { label: string; act: () => void };
  /** Called when it goes without its action having been taken. */
  onGone?: () => void;
}

const SHOWN_FOR = 10_000;

export function useToast(): { toast: ReactNode; show: (toast: Toast) => void } {
  const [current, setCurrent] = useState<Toast>();

  useEffect(() => {
    if (!current) return undefined;
    let isTaken = false;
    const timer = setTimeout(() => setCurrent(undefined), SHOWN_FOR);
    current.action = current.action && wrap(current.action, () => (isTaken = true));
    return () => {
      clearTimeout(timer);
      if (!isTaken) current.onGone?.();
    };
  }, [current]);

  const show = useCallback((toast: Toast) => setCurrent({ ...toast }), []);
  const toast = (
    <div role="status">
      {current && (
        <div className="toast">
          {current.words}
          {current.action && (
            <button
              type="button"
              className="text-button"
              onClick={() => {
                current.action?.act();
                setCurrent(undefined);
              }}
            >
              {current.action.label}
            </button>
          )}
        </div>
      )}
    </div>
  );
  return { toast, show };
}

function wrap(action: { label: string; act: () => void }, note: () => void) {
  return {
    label: action.label,
    act: () => {
      note();
      action.act();
    },
  };
}
