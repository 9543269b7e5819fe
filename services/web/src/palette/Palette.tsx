/** Everything is in it: pages, actions, agents, threads, and what was said. Ctrl/⌘ + K. */
import { useEffect, useRef, useState } from 'react';
import type { User } from '../api/types';
import { navigate } from '../router';
import { Glyph } from '../shell/Glyph';
import { useListbox } from '../shell/listbox';
import { strings } from '../strings';
import { type Entry, useEntries } from './entries';
import { fitness } from './fuzzy';

const words = strings.palette;
/** More would not be read. */
const SHOWN = 40;

export function Palette({ user, onClose }: { user: User; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const entries = fitting(useEntries(user, text.trim()), text);
  useEffect(() => dialog.current?.showModal(), []);

  function choose(index: number, isElsewhere: boolean) {
    const entry = entries[index];
    if (!entry) return;
    if (isElsewhere && entry.to) {
      window.open(entry.to, '_blank', 'noopener');
      return;
    }
    dialog.current?.close();
    // Closing gives the focus back first; what is chosen may take it from there.
    queueMicrotask(() => (entry.to ? navigate(entry.to) : entry.act?.()));
  }

  const box = useListbox({ count: entries.length, isOpen: true, about: text, onChoose: choose });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it closes it; keys have Esc
    <dialog
      ref={dialog}
      className="palette"
      aria-label={words.title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div className="palette-box">
        <input
          {...box.field}
          type="text"
          className="palette-input"
          aria-label={words.label}
          placeholder={words.label}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div {...box.list} role="listbox" className="palette-list" aria-label={words.results}>
          {entries.map((entry, index) => (
            <div key={entry.id} className="palette-entry" {...box.option(index)}>
              {entry.sign && <Glyph seed={entry.sign} size={20} />}
              <span className="thread-name">{entry.label}</span>
              <span className="small muted">{entry.group}</span>
              {entry.keys && <kbd>{entry.keys}</kbd>}
            </div>
          ))}
        </div>
        <p className="palette-note small muted" role="status">
          {entries.length === 0 ? words.none : <span className="visually-hidden">{words.count(entries.length)}</span>}
        </p>
      </div>
    </dialog>
  );
}

function fitting(entries: Entry[], text: string): Entry[] {
  if (!text.trim()) return entries.filter((entry) => !entry.isFound).slice(0, SHOWN);
  return entries
    .map((entry) => ({ entry, score: fitness(text, `${entry.label} ${entry.group}`) }))
    .filter(({ entry, score }) => score !== undefined || entry.isFound)
    .sort((one, other) => (other.score ?? 0) - (one.score ?? 0))
    .slice(0, SHOWN)
    .map(({ entry }) => entry);
}
