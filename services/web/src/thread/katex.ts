/** Formulas, drawn by KaTeX: loaded with its style and fonts, from our own files, when the first formula appears. */
import katex, { type KatexOptions } from 'katex';
import 'katex/dist/katex.min.css';
import remarkMath from 'remark-math';

/** Only `$$` is read: which single dollars mean formulas is decided in `math.ts`. */
export const plugin = [remarkMath, { singleDollarTextMath: false }] as const;

/** A formula may grow only so far: macros that are replaced, and sizes in em. */
const LIMITS = { maxExpand: 300, maxSize: 40 };

interface Tree {
  attributes?: Record<string, string>;
  children?: Tree[];
  toNode: () => Node;
}

/** KaTeX's own tree, which its types leave out. */
const { __renderToDomTree: toTree } = katex as unknown as {
  __renderToDomTree: (tex: string, options: KatexOptions) => Tree;
};

/** The formula as elements: visible ones, and MathML beside them for screen readers. Throws if it is none. */
export function draw(tex: string, isDisplay: boolean): Node {
  const tree = toTree(tex, {
    ...LIMITS,
    displayMode: isDisplay,
    output: 'htmlAndMathml',
    throwOnError: true,
    trust: false,
    strict: 'ignore',
  });
  dropStyleAttributes(tree);
  return tree.toNode();
}

/** The page's policy refuses styles written as attributes; all but a few frames of MathML are set otherwise. */
function dropStyleAttributes(tree: Tree): void {
  if (tree.attributes) delete tree.attributes.style;
  for (const child of tree.children ?? []) dropStyleAttributes(child);
}
