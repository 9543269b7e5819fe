/** Which model answers everyone who has chosen none. */
import { api } from '../api/client';

/** Saves it as the deployment's; returns its id. Throws what the server answers. */
export async function chooseModel(model: string): Promise<string> {
  await api.changeSettings({ model });
  return model;
}
