/** Writes `sw.js` with the list of what the first load needs: the page, its scripts and styles. Pages that are fetched
 * when they are opened are kept from then on. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Plugin, Rollup } from 'vite';

const SOURCE = new URL('./sw.js', import.meta.url);
const ALWAYS = ['/', '/favicon.svg'];

export function serviceWorker(): Plugin {
  return {
    name: 'retinue-service-worker',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const shell = [...ALWAYS, ...firstLoad(bundle).map((file) => `/${file}`)];
      const page = bundle['index.html'];
      const version = createHash('sha256')
        .update(JSON.stringify(shell))
        .update(page?.type === 'asset' ? page.source : '')
        .digest('hex')
        .slice(0, 12);
      const source = readFileSync(SOURCE, 'utf8')
        .replace("'__VERSION__'", JSON.stringify(version))
        .replace("['__SHELL__']", JSON.stringify(shell));
      this.emitFile({ type: 'asset', fileName: 'sw.js', source });
    },
  };
}

/** The entry, what it imports at once, and their styles. */
function firstLoad(bundle: Rollup.OutputBundle): string[] {
  const files = new Set<string>();
  const add = (name: string) => {
    const chunk = bundle[name];
    if (files.has(name) || chunk?.type !== 'chunk') return;
    files.add(name);
    for (const style of chunk.viteMetadata?.importedCss ?? []) files.add(style);
    for (const imported of chunk.imports) add(imported);
  };
  for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk' && chunk.isEntry) add(chunk.fileName);
  return [...files].sort();
}
