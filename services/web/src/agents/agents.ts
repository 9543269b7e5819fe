/** The user's agents, the default one first: one store for the column, the pages and the palette. */
import { api } from '../api/client';
import type { Agent } from '../api/shapes';
import { makeStore } from '../shell/store';

const store = makeStore(
  async () => (await api.agents()).items,
  (hint) => hint.kind === 'agents',
);

const NONE: Agent[] = [];

export const refreshAgents = store.refresh;

export function useAgents(): { items: Agent[]; isLoaded: boolean; failure: unknown } {
  const { value, failure } = store.useValue();
  return { items: value ?? NONE, isLoaded: value !== undefined, failure };
}

/** By its id; none while it is not known, or when it is archived. */
export function useAgent(id: string | undefined): Agent | undefined {
  return useAgents().items.find((agent) => agent.id === id);
}

/** The seed of an agent's glyph. */
export const signOf = (agent: Pick<Agent, 'id' | 'glyph'>) => agent.glyph || agent.id;
