/** Line icons, drawn here: 20 px, one stroke, no library. */
import type { ReactNode } from 'react';

function Icon({ children, size = 20, className }: { children: ReactNode; size?: number; className?: string }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      {children}
    </svg>
  );
}

export const Plus = () => (
  <Icon>
    <path d="M10 4v12M4 10h12" />
  </Icon>
);

export const Column = () => (
  <Icon>
    <rect x="3" y="4" width="14" height="12" rx="2" />
    <path d="M8 4v12" />
  </Icon>
);

export const Send = () => (
  <Icon>
    <path d="M10 16V4M5 9l5-5 5 5" />
  </Icon>
);

export const StopSquare = () => (
  <Icon>
    <rect x="5" y="5" width="10" height="10" rx="1.5" fill="currentColor" />
  </Icon>
);

export const Chevron = () => (
  <Icon size={14} className="chevron">
    <path d="m7 4 6 6-6 6" />
  </Icon>
);

export const Wrench = () => (
  <Icon size={16}>
    <path d="M12.5 3.5a4 4 0 0 0-3.6 5.6l-5.4 5.4a1.4 1.4 0 0 0 2 2l5.4-5.4a4 4 0 0 0 5.3-5.1l-2.4 2.4-2-.6-.6-2 2.4-2.2a4 4 0 0 0-1.1-.1Z" />
  </Icon>
);

export const Dots = () => (
  <Icon>
    <path d="M4.5 10h.01M10 10h.01M15.5 10h.01" strokeWidth="2.5" />
  </Icon>
);

export const Cross = () => (
  <Icon>
    <path d="m5 5 10 10M15 5 5 15" />
  </Icon>
);

export const Eye = ({ isOff }: { isOff: boolean }) => (
  <Icon>
    <path d="M2.5 10S5 5 10 5s7.500 5 7.500 5-2.5 5-7.500 5-7.500-5-7.500-5Z" />
    <circle cx="10" cy="10" r="2" />
    {isOff && <path d="M4 16 16 4" />}
  </Icon>
);

export const Lens = () => (
  <Icon size={16}>
    <circle cx="9" cy="9" r="5" />
    <path d="m13 13 4 4" />
  </Icon>
);

export const Check = () => (
  <Icon size={16}>
    <path d="m4 10.500 4 4 8-9" />
  </Icon>
);

export const ArrowUp = () => (
  <Icon size={16}>
    <path d="M10 16V4M5.500 8.500 10 4l4.5 4.5" />
  </Icon>
);

export const ArrowDown = () => (
  <Icon size={16}>
    <path d="M10 4v12M5.500 11.500 10 16l4.5-4.5" />
  </Icon>
);

export const Globe = () => (
  <Icon size={16}>
    <circle cx="10" cy="10" r="7" />
    <path d="M3 10h14M10 3c2.5 2 3.5 4.5 3.5 7s-1 5-3.5 7c-2.5-2-3.5-4.5-3.5-7s1-5 3.5-7Z" />
  </Icon>
);

export const Clock = () => (
  <Icon size={16}>
    <circle cx="10" cy="10" r="7" />
    <path d="M10 6v4l2.5 2.5" />
  </Icon>
);

export const Figures = () => (
  <Icon size={16}>
    <rect x="4" y="3" width="12" height="14" rx="2" />
    <path d="M7 7h6M7 11h.01M10 11h.01M13 11h.01M7 14h.01M10 14h.01M13 14h.01" />
  </Icon>
);

export const Paper = () => (
  <Icon size={16}>
    <path d="M5 3h7l3 3v11H5ZM12 3v3h3" />
  </Icon>
);

export const Sheets = () => (
  <Icon size={16}>
    <rect x="7" y="7" width="10" height="10" rx="2" />
    <path d="M13 4H5a2 2 0 0 0-2 2v7" />
  </Icon>
);

export const Panel = () => (
  <Icon>
    <rect x="3" y="4" width="14" height="12" rx="2" />
    <path d="M12 4v12" />
  </Icon>
);
