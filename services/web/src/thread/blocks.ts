/** Splits markdown at places where nothing can reach across, so that a growing answer redraws only its last block. */

const FENCE = /^\s*(`{3,}|~{3,}|\$\$$)/;
/** A fence that stands at the margin: it belongs to no list, and what follows it is another block. */
const MARGIN_FENCE = /^(`{3,}|~{3,})/;
/** A line that may belong to what stands before the blank line: indented, or a list item. */
const CONTINUES = /^(\s|[-*+](\s|$)|\d{1,9}[.)](\s|$))/;
/** Definitions of links and footnotes speak to the whole text. */
const DEFINITION = /^ {0,3}\[[^\]]+\]:/;
/** Raw HTML may span blank lines. */
const HTML = /^ {0,3}<[a-zA-Z!/?]/;
/** Lines that mean something together with their neighbours: lists, tables, quotes, headings, indented code. */
const STRUCTURE = /^(\s*([-*+>|#=]|\d{1,9}[.)])| {4}|\t|.*\|)/m;

/** A longer paragraph is cut into pieces of this size. In characters. */
export const PIECE = 4000;
/** A list or a table this long is cut as well: whole it would stall the page. In characters. */
const LONG_STRUCTURE = 100_000;

/** The blocks of a text, and how many of them, up to where, stay as they are: what grows is split again from there. */
export interface Split {
  text: string;
  blocks: string[];
  settled: number;
  settledTo: number;
  /** Something in it speaks to the whole text, which is therefore one block. */
  isWhole: boolean;
}

export function splitBlocks(markdown: string): string[] {
  return grow(undefined, markdown).blocks;
}

/** Splits a text; if it only goes on from what was split before, all but the last block is taken from there. */
export function grow(before: Split | undefined, text: string): Split {
  if (before?.text === text) return before;
  const goesOn = before !== undefined && before.blocks.length > 0 && text.startsWith(before.text);
  if (goesOn && before.isWhole) return whole(text);
  const start = goesOn ? before.settledTo : 0;
  const found = scan(text, start);
  if (found === undefined) return whole(text);
  const blocks = goesOn ? before.blocks.slice(0, before.settled) : [];
  const first = blocks.length;
  for (const { at, end } of found) blocks.push(text.slice(at, end));
  // What a line is may change until it ends: then the block before it may be its own. Within a line nothing begins.
  const lineAt = text.lastIndexOf('\n') + 1;
  const last = found.findLastIndex(({ at }) => at < lineAt || at === start || text[at - 1] !== '\n');
  return { text, blocks, settled: first + Math.max(0, last), settledTo: found[last]?.at ?? start, isWhole: false };
}

function whole(text: string): Split {
  return { text, blocks: text.trim() === '' ? [] : [text], settled: 0, settledTo: 0, isWhole: true };
}

interface Span {
  at: number;
  end: number;
}

/** Where blocks begin and end; undefined if the text must stay whole. */
function scan(text: string, from: number): Span[] | undefined {
  const spans: Span[] = [];
  // A piece of a long paragraph begins in the middle of a line, which can open nothing.
  const begun = from > 0 && text[from - 1] !== '\n' ? nextLine(text, from) : from;
  let at = from;
  let fence: string | undefined;
  let isOver = false; // the block ends before the next line that is not blank, unless that one continues it
  let isFenceOver = false;
  const close = (end: number) => {
    const stop = end > at && text[end - 1] === '\n' ? end - 1 : end;
    if (text.slice(at, stop).trim() !== '') spans.push(...cut(text, { at, end: stop }));
    at = end;
  };
  for (let line = begun; line < text.length; ) {
    const next = nextLine(text, line);
    const words = text.slice(line, next).replace(/\r?\n$/, '');
    const isBlank = words.trim() === '';
    const mark = FENCE.exec(words)?.[1];
    const isOpening = fence === undefined && mark !== undefined && opens(mark, words);
    if (fence === undefined && !isBlank) {
      if (DEFINITION.test(words) || HTML.test(words)) return undefined;
      if (isFenceOver || (isOpening && MARGIN_FENCE.test(words)) || (isOver && !CONTINUES.test(words))) close(line);
      isFenceOver = false;
    }
    if (isOpening) fence = mark;
    else if (mark && fence !== undefined && closes(fence, mark, words)) {
      fence = undefined;
      isFenceOver = MARGIN_FENCE.test(text.slice(at, at + 3));
    }
    isOver = fence === undefined && isBlank;
    line = next;
  }
  close(text.length);
  return spans;
}

function nextLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end + 1;
}

/** A backtick in the line says that it is code within a line. */
function opens(mark: string, line: string): boolean {
  return mark[0] !== '`' || !line.trim().slice(mark.length).includes('`');
}

function closes(fence: string, mark: string, line: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark;
}

/** A block that is too long to be drawn at once, in pieces that end between words; where they end depends only on
 * what stands before, so that they stay as they are while the text grows. */
function cut(text: string, { at, end }: Span): Span[] {
  if (end - at <= 2 * PIECE || MARGIN_FENCE.test(text.slice(at, at + 3))) return [{ at, end }];
  const block = text.slice(at, end);
  const hasStructure = STRUCTURE.test(block.slice(0, LONG_STRUCTURE));
  if (hasStructure && end - at <= LONG_STRUCTURE) return [{ at, end }];
  const spans: Span[] = [];
  let from = at;
  while (end - from > 2 * PIECE) {
    const stop = gapBefore(text, from, hasStructure ? '\n' : ' ');
    spans.push({ at: from, end: stop });
    from = stop;
  }
  spans.push({ at: from, end });
  return spans;
}

/** Behind the last such gap within one piece from here; in the middle of a word if there is none. */
function gapBefore(text: string, from: number, gap: string): number {
  const line = text.lastIndexOf('\n', from + PIECE);
  const found = line > from + PIECE / 2 ? line : text.lastIndexOf(gap, from + PIECE);
  return found > from ? found + 1 : from + PIECE;
}

export interface Fence {
  language: string;
  code: string;
}

/** A block that is nothing but fenced code needs no parser. */
export function fenceOf(block: string): Fence | undefined {
  const mark = MARGIN_FENCE.exec(block)?.[1];
  if (!mark) return undefined;
  const first = nextLine(block, 0);
  const info = block.slice(mark.length, first).trim();
  if (mark[0] === '`' && info.includes('`')) return undefined;
  const lines = block.slice(first);
  const last = lines.trimEnd().lastIndexOf('\n') + 1;
  const end = lines.slice(last).trim();
  const isClosed = end.length >= mark.length && end === (mark[0] ?? '').repeat(end.length);
  return { language: info.split(/\s/)[0] ?? '', code: (isClosed ? lines.slice(0, last) : lines).replace(/\n$/, '') };
}
