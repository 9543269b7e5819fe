/** A way inside the page: a real link, followed without a reload. */
import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { navigate } from '../router';

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href' | 'onClick'> {
  to: string;
  /** It was followed in this window. */
  onFollow?: (() => void) | undefined;
}

export function Link({ to, onFollow, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={to}
      onClick={(event) => {
        if (follow(event, to)) onFollow?.();
      }}
    />
  );
}

function follow(event: MouseEvent, path: string): boolean {
  // A click with a modifier opens a tab or a window, as everywhere.
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return false;
  event.preventDefault();
  navigate(path);
  return true;
}
