/** Splits markdown at places where nothing can reach across, so that a growing answer redraws only its last block. */

const FENCE = /^\s*(`{3,}|~{3,})/;
/** A line that may belong to what stands before the blank line: indented, or a list item. */
const CONTINUES = /^(\s|[-*+](\s|$)|\d{1,9}[.)](\s|$))/;
/** Definitions of links and footnotes speak to the whole text. */
const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;
/** Raw HTML may span blank lines. */
const HTML = /^ {0,3}<[a-zA-Z!/?]/m;

export function splitBlocks(markdown: string): string[] {
  if (DEFINITION.test(markdown) || HTML.test(markdown)) return [markdown];
  const blocks: string[] = [];
  let block: string[] = [];
  let fence: string | undefined;
  let isBlankBefore = false;
  for (const line of markdown.split('\n')) {
    if (fence === undefined && isBlankBefore && line.trim() !== '' && !CONTINUES.test(line)) {
      blocks.push(block.join('\n'));
      block = [];
    }
    const mark = FENCE.exec(line)?.[1];
    if (mark && fence === undefined) fence = mark;
    else if (mark && fence !== undefined && closes(fence, mark, line)) fence = undefined;
    isBlankBefore = fence === undefined && line.trim() === '';
    block.push(line);
  }
  blocks.push(block.join('\n'));
  return blocks.filter((text) => text.trim() !== '');
}

function closes(fence: string, mark: string, line: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark;
}
