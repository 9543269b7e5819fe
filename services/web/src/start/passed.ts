/** Who has been on the first page is not led there again. */
import { api } from '../api/client';

const KEY = 'retinue.start.';

export function passStart(user: string): void {
  try {
    localStorage.setItem(KEY + user, 'passed');
  } catch {
    // Storage may be closed to this page; then they are led there once more.
  }
}

function hasPassed(user: string): boolean {
  try {
    return localStorage.getItem(KEY + user) !== null;
  } catch {
    return false;
  }
}

/** An administrator who signs in while nothing but the demo can answer, for the first time. */
export async function isNewHere(user: { id: string; is_admin: boolean }): Promise<boolean> {
  if (!user.is_admin || hasPassed(user.id)) return false;
  try {
    const start = await api.start();
    return start.is_demo || !start.has_model;
  } catch {
    return false; // the page that they wanted says what is wrong
  }
}
