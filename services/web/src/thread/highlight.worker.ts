/** Colours code beside the page, so that a long block stops nobody from typing. */
import { common, createLowlight } from 'lowlight';
import type { Asked, Coloured, Run } from './highlight';

type Children = ReturnType<typeof lowlight.highlight>['children'];

const lowlight = createLowlight(common);

self.addEventListener('message', ({ data }: MessageEvent<Asked>) => {
  const { id, language, code } = data;
  const runs: Run[] = [];
  if (lowlight.registered(language)) collect(lowlight.highlight(language, code).children, '', runs);
  self.postMessage({ id, runs } satisfies Coloured);
});

/** The tree as a row of texts, each with the innermost of its classes. */
function collect(children: Children, outer: string, runs: Run[]): void {
  for (const child of children) {
    if (child.type === 'text') add(runs, outer, child.value);
    else if (child.type === 'element') {
      const names = child.properties.className;
      collect(child.children as Children, Array.isArray(names) ? names.join(' ') : outer, runs);
    }
  }
}

function add(runs: Run[], kind: string, text: string): void {
  const last = runs.at(-1);
  if (last && last[0] === kind) last[1] += text;
  else runs.push([kind, text]);
}
