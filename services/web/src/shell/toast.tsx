/** One short message at the foot of the page, with at most one action; gone after 10 seconds, counted anew at each press
 * of Tab: whoever is on the way to the action by keys shall get there. */
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
    let timer: ReturnType<typeof setTimeout>;
    const begin = () => {
      clearTimeout(timer);
      timer = setTimeout(() => setCurrent(undefined), SHOWN_FOR);
    };
    const press = ({ key }: KeyboardEvent) => key === 'Tab' && begin();
    begin();
    document.addEventListener('keydown', press);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('keydown', press);
    };
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
