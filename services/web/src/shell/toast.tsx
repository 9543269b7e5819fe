/** One short message at the foot of the page, with at most one action; gone after 10 seconds. */
import { type ReactNode, useCallback, useEffect, useState } from 'react';

export interface Toast {
  words: string;
  action?: { label: string; act: () => void };
}

const SHOWN_FOR = 10_000;

export function useToast(): { toast: ReactNode; show: (toast: Toast) => void } {
  const [current, setCurrent] = useState<Toast>();

  useEffect(() => {
    if (!current) return undefined;
    const timer = setTimeout(() => setCurrent(undefined), SHOWN_FOR);
    return () => clearTimeout(timer);
  }, [current]);

  const show = useCallback((toast: Toast) => setCurrent({ ...toast }), []);
  const toast = (
    <div className="toasts" role="status">
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
