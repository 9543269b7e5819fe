/** What goes to the clipboard: an answer as it looks, for documents and for plain text. */

const BLOCKS = new Set([
  'P',
  'DIV',
  'PRE',
  'UL',
  'OL',
  'LI',
  'TABLE',
  'TR',
  'BLOCKQUOTE',
  'H1',
  'H2',
  'H3',
  'H4',
  'H5',
  'H6',
  'HR',
]);

/** The written text of an article, without the buttons in it. */
function writing(article: Element): HTMLElement {
  const whole = document.createElement('div');
  for (const prose of article.querySelectorAll('.prose')) whole.append(...prose.cloneNode(true).childNodes);
  for (const button of whole.querySelectorAll('.code-head')) button.remove();
  for (const formula of whole.querySelectorAll('.formula')) {
    const tex = formula.querySelector('annotation')?.textContent ?? formula.textContent ?? '';
    formula.replaceWith(formula.classList.contains('is-display') ? `$$${tex}$$` : `$${tex}$`);
  }
  return whole;
}

/** Copies an answer; false where the browser does not allow it. */
export async function copyWriting(article: Element): Promise<boolean> {
  const whole = writing(article);
  const text = plainText(whole);
  try {
    const item = new ClipboardItem({
      'text/html': new Blob([whole.innerHTML], { type: 'text/html' }),
      'text/plain': new Blob([text], { type: 'text/plain' }),
    });
    await navigator.clipboard.write([item]);
    return true;
  } catch {
    return copyPlain(text);
  }
}

export async function copyPlain(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // not allowed, or plain http beyond loopback
  }
}

/** Lines for blocks, signs for lists, tabs between cells. */
export function plainText(root: Element): string {
  const text = [...root.childNodes].map((node) => said(node, false)).join('');
  return text
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function said(node: Node, isAsIs: boolean): string {
  if (node.nodeType === Node.TEXT_NODE) {
    const text = node.textContent ?? '';
    return isAsIs ? text : text.replace(/\s+/g, ' ');
  }
  if (!(node instanceof Element)) return '';
  const { tagName } = node;
  if (tagName === 'BR') return '\n';
  const inner = [...node.childNodes].map((child) => said(child, isAsIs || tagName === 'PRE')).join('');
  if (tagName === 'TD' || tagName === 'TH') return `${inner.trim()}\t`;
  if (tagName === 'TR') return `${inner.trimEnd()}\n`;
  if (tagName === 'LI') return `${signOf(node)}${inner.trim().replace(/\n+/g, '\n  ')}\n`;
  if (!BLOCKS.has(tagName)) return inner;
  return `\n\n${isAsIs || tagName === 'PRE' ? inner : inner.trim()}\n\n`;
}

function signOf(item: Element): string {
  const list = item.parentElement;
  if (list?.tagName !== 'OL') return '- ';
  const first = Number(list.getAttribute('start') ?? 1);
  return `${first + [...list.children].indexOf(item)}. `;
}
