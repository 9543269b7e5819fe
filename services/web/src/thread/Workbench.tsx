/** The right column: what belongs to a thread and is looked at beside it. On a phone it slides over. */
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef } from 'react';
import { Cross } from '../shell/icons';
import { strings } from '../strings';
import { type Bench, LEAST_WIDTH, MOST_WIDTH } from './workbench';

const words = strings.workbench;
/** How far an arrow key moves the edge. In CSS px. */
const STEP = 24;

interface WorkbenchProps {
  title: string;
  bench: Bench;
  onChange: (change: Partial<Bench>) => void;
  children: ReactNode;
}

export function Workbench({ title, bench, onChange, children }: WorkbenchProps) {
  const box = useRef<HTMLElement>(null);
  const close = () => onChange({ isOpen: false });

  useEffect(() => {
    const opener = document.activeElement;
    box.current?.focus({ preventScroll: true });
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);

  function press(event: KeyboardEvent) {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    close();
  }

  return (
    <>
      <button type="button" className="workbench-scrim" aria-label={words.close} tabIndex={-1} onClick={close} />
      <section
        className="workbench"
        aria-label={words.title}
        ref={box}
        tabIndex={-1}
        onKeyDown={press}
        style={{ inlineSize: bench.width }}
      >
        <Edge width={bench.width} onWidth={(width) => onChange({ width })} />
        <div className="bar">
          <h2 className="bar-title">{title}</h2>
          <button type="button" className="icon-button" aria-label={words.close} onClick={close}>
            <Cross />
          </button>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <div className="workbench-body" tabIndex={0}>
          {children}
        </div>
      </section>
    </>
  );
}

/** Its left edge, to be dragged or moved with the arrow keys. */
function Edge({ width, onWidth }: { width: number; onWidth: (width: number) => void }) {
  const grip = useRef<{ x: number; width: number }>(undefined);

  function take(event: PointerEvent<HTMLDivElement>) {
    event.currentTarget.setPointerCapture(event.pointerId);
    grip.current = { x: event.clientX, width };
  }
  function move(event: PointerEvent) {
    if (grip.current) onWidth(grip.current.width + grip.current.x - event.clientX);
  }
  function press(event: KeyboardEvent) {
    const step = event.key === 'ArrowLeft' ? STEP : event.key === 'ArrowRight' ? -STEP : 0;
    if (step === 0) return;
    event.preventDefault();
    onWidth(width + step);
  }

  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot be moved
    <div
      className="workbench-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={words.width}
      aria-valuenow={width}
      aria-valuemin={LEAST_WIDTH}
      aria-valuemax={MOST_WIDTH}
      tabIndex={0}
      onPointerDown={take}
      onPointerMove={move}
      onPointerUp={() => {
        grip.current = undefined;
      }}
      onKeyDown={press}
    />
  );
}
