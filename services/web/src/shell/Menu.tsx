/** A small menu that floats by its button: arrows move, Esc and a click elsewhere close. */
import { type KeyboardEvent, useEffect, useRef } from 'react';

export interface MenuItem {
  label: string;
  hint?: string;
  act: () => void;
}

interface MenuProps {
  label: string;
  className: 'above' | 'below';
  items: MenuItem[];
  note?: string | undefined;
  onClose: () => void;
}

export function Menu({ label, className, items, note, onClose }: MenuProps) {
  const box = useRef<HTMLDivElement>(null);

  // The menu is mounted when opened and unmounted when closed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once per opening
  useEffect(() => {
    const opener = document.activeElement;
    box.current?.querySelector('button')?.focus();
    const closeElsewhere = (event: PointerEvent) => {
      if (!box.current?.parentElement?.contains(event.target as Node)) onClose();
    };
    document.addEventListener('pointerdown', closeElsewhere);
    return () => {
      document.removeEventListener('pointerdown', closeElsewhere);
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);

  function move(event: KeyboardEvent) {
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      event.stopPropagation();
      onClose();
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const buttons = [...(box.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons.at((at + step) % buttons.length)?.focus();
  }

  return (
    <div className={`menu ${className}`} role="menu" aria-label={label} tabIndex={-1} ref={box} onKeyDown={move}>
      {note && <div className="menu-note small muted">{note}</div>}
      {items.map((item) => (
        <button
          type="button"
          role="menuitem"
          key={item.label}
          onClick={() => {
            onClose();
            item.act();
          }}
        >
          {item.label}
          {item.hint && <kbd>{item.hint}</kbd>}
        </button>
      ))}
    </div>
  );
}
