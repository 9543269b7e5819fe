/** A field with a list of options below it: the keys and the attributes of the ARIA pattern "combobox with listbox".
 * The focus stays in the field; which option is meant is said by `aria-activedescendant`. */
import { type KeyboardEvent, useEffect, useId, useState } from 'react';

export interface Listbox {
  active: number;
  field: {
    role: 'combobox';
    'aria-expanded': boolean;
    'aria-controls': string;
    'aria-autocomplete': 'list';
    'aria-activedescendant': string | undefined;
    onKeyDown: (event: KeyboardEvent) => void;
  };
  list: { role: 'listbox'; id: string };
  option: (index: number) => {
    role: 'option';
    id: string;
    'aria-selected': boolean;
    tabIndex: -1;
    onMouseDown: (event: { preventDefault: () => void }) => void;
    onPointerMove: () => void;
    onClick: (event: { preventDefault: () => void }) => void;
  };
}

interface ListboxWishes {
  count: number;
  isOpen: boolean;
  /** Whenever this changes, the first option is meant again. */
  about: string;
  onChoose: (index: number, isElsewhere: boolean) => void;
}

export function useListbox({ count, isOpen, about, onChoose }: ListboxWishes): Listbox {
  const id = useId();
  const [active, setActive] = useState(0);
  const at = Math.min(active, Math.max(0, count - 1));
  const optionId = (index: number) => `${id}-${index}`;

  // biome-ignore lint/correctness/useExhaustiveDependencies: that is what `about` is for
  useEffect(() => setActive(0), [about]);
  useEffect(() => {
    if (isOpen) document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, at, isOpen]);

  function press(event: KeyboardEvent) {
    if (!isOpen || count === 0 || event.nativeEvent.isComposing) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const isStep = Math.abs(to - at) === 1;
      setActive(isStep ? (to + count) % count : Math.max(0, Math.min(count - 1, to)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      onChoose(at, event.ctrlKey || event.metaKey);
    }
  }

  return {
    active: at,
    field: {
      role: 'combobox',
      'aria-expanded': isOpen,
      'aria-controls': id,
      'aria-autocomplete': 'list',
      'aria-activedescendant': isOpen && count > 0 ? optionId(at) : undefined,
      onKeyDown: press,
    },
    list: { role: 'listbox', id },
    option: (index) => ({
      role: 'option',
      id: optionId(index),
      'aria-selected': index === at,
      tabIndex: -1,
      onMouseDown: (event) => event.preventDefault(), // the focus stays in the field
      onPointerMove: () => setActive(index),
      onClick: (event) => {
        event.preventDefault();
        onChoose(index, false);
      },
    }),
  };
}
