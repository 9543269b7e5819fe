/** Formulas in markdown: which dollars mean one, and which are money. */

/** Longer blocks are not looked through. In characters. */
const MOST = 50_000;

const CODE_BLOCK = '^[ \\t]*(?<fence>`{3,}|~{3,})[^\\n]*\\n[\\s\\S]*?(?:^[ \\t]*\\k<fence>[`~]*[ \\t]*$|(?![\\s\\S]))';
const CODE = '(?<ticks>`+)(?!`)[\\s\\S]*?(?<!`)\\k<ticks>(?!`)';
const BRACKETS = '\\\\\\[(?<brackets>[\\s\\S]+?)\\\\\\]';
const PARENTHESES = '\\\\\\((?<parentheses>[^\\n]+?)\\\\\\)';
const DOUBLE = '\\$\\$(?<double>(?:\\\\[\\s\\S]|[^$\\\\])+?)\\$\\$';
/** As a person writes it: nothing before but a space or a bracket, no space inside at either end, no letter after. */
const SINGLE =
  '(?<![^\\s([{"\'“‘—–:;,./|*_>-])\\$(?<single>(?![\\s$])(?:\\\\.|[^$\\\\\\n])+?(?<!\\s))\\$(?![\\p{L}\\p{N}$])';
const ESCAPED = '\\\\[\\s\\S]';
const DOLLAR = '\\$';
const PIECES = new RegExp([CODE_BLOCK, CODE, BRACKETS, PARENTHESES, DOUBLE, SINGLE, ESCAPED, DOLLAR].join('|'), 'gmu');

/** The same text with each formula written as remark-math reads it, and every other dollar escaped; undefined if there
 * is no formula in it. */
export function withFormulas(markdown: string): string | undefined {
  if (!/\$|\\[([]/.test(markdown) || markdown.length > MOST) return undefined;
  let hasFormula = false;
  const rewritten = markdown.replace(PIECES, (piece, ...rest) => {
    const groups = rest.at(-1) as Record<string, string | undefined>;
    const at = rest.at(-3) as number;
    const display = groups.double ?? groups.brackets;
    const inline = groups.single ?? groups.parentheses;
    if (display !== undefined && display.trim() !== '' && !/\n[ \t]*\n/.test(display)) {
      hasFormula = true;
      return asDisplay(markdown, at, piece, display.trim());
    }
    if (inline !== undefined && inline.trim() !== '') {
      hasFormula = true;
      return asInline(inline.trim());
    }
    return piece === '$' ? '\\$' : piece.startsWith('$') ? piece.replaceAll('$', '\\$') : piece;
  });
  return hasFormula ? rewritten : undefined;
}

/** On lines of its own if it stands alone on its line, else within the text. */
function asDisplay(text: string, at: number, piece: string, tex: string): string {
  const before = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  const after = text.slice(at + piece.length).split('\n', 1)[0] ?? '';
  if (!/^[ \t]*$/.test(before) || after.trim() !== '') return asInline(tex);
  const lines = tex.split('\n').map((line) => line.trim());
  return ['$$', ...lines, '$$'].join(`\n${before}`);
}

/** A dollar more than the formula has in a row ends it; a bare one inside cannot be. */
function asInline(tex: string): string {
  return `$$${tex.replace(/\s*\n\s*/g, ' ')}$$`;
}
