/** What an answer rests on: the addresses that it names, each once, in their order. */
import { isToolUIPart, type UIMessage } from 'ai';
import { webAddress } from './addresses';

export interface Source {
  url: URL;
  title: string;
}

export function sourcesOf(message: UIMessage): Source[] {
  const found = new Map<string, Source>();
  for (const part of message.parts) {
    if (part.type === 'source-url') add(found, part.url, part.title);
    else if (isToolUIPart(part) && part.state === 'output-available')
      for (const source of listed(part.output)) add(found, source.url, source.title);
  }
  return [...found.values()];
}

/** The sources that a tool names in its output. */
export function sourcesIn(output: unknown): Source[] {
  const found = new Map<string, Source>();
  for (const source of listed(output)) add(found, source.url, source.title);
  return [...found.values()];
}

function listed(output: unknown): { url?: unknown; title?: unknown }[] {
  const sources = output && typeof output === 'object' ? (output as { sources?: unknown }).sources : undefined;
  if (!Array.isArray(sources)) return [];
  return sources.filter((source) => source && typeof source === 'object');
}

function add(found: Map<string, Source>, address: unknown, title: unknown): void {
  const url = webAddress(address);
  if (!url) return;
  const words = typeof title === 'string' ? title.trim() : '';
  const known = found.get(url.href);
  if (!known) found.set(url.href, { url, title: words });
  else if (known.title === '') known.title = words;
}
