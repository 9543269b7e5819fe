/** What was typed and not accepted yet, kept in this browser: survives a reload, and keeps the id under which a text was
 * sent, so that sending the same text again can never make a second turn. */

export interface Draft {
  text: string;
  /** Set once the text was sent; the server takes it only once. */
  sentAs?: string;
}

const key = (user: string, thread: string) => `retinue.draft.${user}.${thread}`;

export function readDraft(user: string, thread: string): Draft {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key(user, thread)) ?? 'null');
    if (value && typeof value === 'object' && typeof (value as Draft).text === 'string') return value as Draft;
  } catch {
    // Storage that is off, full or not ours holds no draft; typing works all the same.
  }
  return { text: '' };
}

export function writeDraft(user: string, thread: string, draft: Draft): void {
  try {
    if (draft.text === '') localStorage.removeItem(key(user, thread));
    else localStorage.setItem(key(user, thread), JSON.stringify(draft));
  } catch {
    // As above: a draft that cannot be kept is no reason to disturb who is typing.
  }
}

/** 24 random letters and digits. `crypto.randomUUID` is missing on plain http beyond loopback. */
export function newMessageId(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => alphabet[byte % alphabet.length]).join('');
}
