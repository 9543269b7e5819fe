/** Seeds of glyphs. */

export function newSign(): string {
  // `randomUUID` is missing on plain http beyond loopback.
  return [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
