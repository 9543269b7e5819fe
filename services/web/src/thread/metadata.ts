/** What the server says about a message beside its parts: `metadata.retinue`. */
import type { UIMessage } from 'ai';

export interface MessageFacts {
  turn?: string;
  status?: string;
  ended_by?: string;
  error?: { message?: string };
  /** Which model answered. */
  model?: string;
}

export function factsOf(message: UIMessage | undefined): MessageFacts {
  const metadata = message?.metadata;
  if (!metadata || typeof metadata !== 'object') return {};
  const facts = (metadata as { retinue?: unknown }).retinue;
  return facts && typeof facts === 'object' ? (facts as MessageFacts) : {};
}

const OPEN = new Set(['waiting', 'queued', 'running']);

/** Whether the message belongs to a turn that has not ended. */
export function isOpen(message: UIMessage | undefined): boolean {
  return OPEN.has(factsOf(message).status ?? '');
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** How long a part took as the server kept it, in seconds; undefined where it does not say. */
export function tookOf(part: { providerMetadata?: unknown }): number | undefined {
  const metadata = part.providerMetadata as { retinue?: { took_ms?: unknown } } | undefined;
  const took = metadata?.retinue?.took_ms;
  return typeof took === 'number' && took >= 0 ? took / 1000 : undefined;
}

/** When a message was made. The ids of turns and answers begin with their time (UUIDv7), in ms since 1970. */
export function momentOf(message: UIMessage | undefined): Date | undefined {
  const id = [factsOf(message).turn, message?.id].find((candidate) => UUID7.test(candidate ?? ''));
  return id ? new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)) : undefined;
}

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/i;
