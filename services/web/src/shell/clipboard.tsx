/** Copying: a button that says when it has. */
import { type RefObject, useState } from 'react';
import { strings } from '../strings';

const COPIED_FOR = 2000;

/** Copies the text of what `of` points at. */
export function CopyButton({ of, className }: { of: RefObject<HTMLElement | null>; className?: string }) {
  const [isCopied, setCopied] = useState(false);

  async function copy() {
    if (!(await copyText(of.current))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_FOR);
  }

  return (
    <button type="button" className={className} onClick={() => void copy()}>
      {isCopied ? strings.code.copied : strings.code.copy}
    </button>
  );
}

/** The clipboard API is missing on plain http beyond loopback: there the text is at least selected. */
async function copyText(box: HTMLElement | null): Promise<boolean> {
  if (!box) return false;
  try {
    await navigator.clipboard.writeText(box.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(box);
    return false;
  }
}
