/** A first message that waits for its thread's page to open; in memory only, the draft keeps it otherwise. */

interface Waiting {
  id: string;
  text: string;
}

const waiting = new Map<string, Waiting>();

export function put(thread: string, message: Waiting): void {
  waiting.set(thread, message);
}

export function take(thread: string): Waiting | undefined {
  const message = waiting.get(thread);
  waiting.delete(thread);
  return message;
}

export function has(thread: string): boolean {
  return waiting.has(thread);
}
