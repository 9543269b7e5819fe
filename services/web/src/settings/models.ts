/** The models that can be chosen: one store, looked at again when settings or providers change. */
import { api } from '../api/client';
import type { ModelInfo, Models } from '../api/shapes';
import { makeStore } from '../shell/store';

const store = makeStore(api.models, (hint) => hint.kind === 'settings');

export const refreshModels = store.refresh;

export function useModels(): { models: Models | undefined; failure: unknown } {
  const { value, failure } = store.useValue();
  return { models: value, failure };
}

/** By provider, in the order in which they came. */
export function byProvider(items: ModelInfo[]): [string, ModelInfo[]][] {
  const groups = new Map<string, ModelInfo[]>();
  for (const item of items) groups.set(item.provider, [...(groups.get(item.provider) ?? []), item]);
  return [...groups];
}
