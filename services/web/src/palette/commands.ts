/** What the palette can do besides going somewhere: each mounted part of the page brings its own commands. */
import { useEffect, useRef, useSyncExternalStore } from 'react';

export interface Command {
  id: string;
  label: string;
  /** As the keys page writes them. */
  keys?: string;
  act: () => void;
}

let sets: (readonly Command[])[] = [];
let all: readonly Command[] = [];
const listeners = new Set<() => void>();

function change(next: (readonly Command[])[]): void {
  sets = next;
  all = sets.flat();
  for (const listener of listeners) listener();
}

/** The commands are in the palette as long as the part that calls this is there; what they do may change with each
 * rendering, which commands there are is told by their ids and labels. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const key = commands.map((command) => `${command.id} ${command.label}`).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the commands
  useEffect(() => {
    const own = latest.current.map((command, index) => ({ ...command, act: () => latest.current[index]?.act() }));
    change([...sets, own]);
    return () => change(sets.filter((set) => set !== own));
  }, [key]);
}

export function useAllCommands(): readonly Command[] {
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return useSyncExternalStore(subscribe, () => all);
}
