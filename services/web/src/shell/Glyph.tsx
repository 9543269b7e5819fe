/** A small geometric sign from a seed, in two tones: the same agent or person looks the same everywhere. */

/** As many as `--glyph-N` in tokens.css. */
const TONES = 8;

function hash(seed: string): number {
  // FNV-1a: short, and spreads ids that differ in one letter.
  let value = 0x811c9dc5;
  for (const character of seed) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  // Murmur's last steps: without them its lowest bits, which choose tone and shape, hardly differ.
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

const SHAPES = [
  <path key="triangle" d="M6 24 16 8l10 16Z" />,
  <circle key="circle" cx="16" cy="16" r="9" />,
  <path key="diamond" d="m16 6 10 10-10 10L6 16Z" />,
  <path key="half" d="M7 16a9 9 0 0 1 18 0Z" />,
  <path key="quarter" d="M8 24V8a16 16 0 0 1 16 16Z" />,
  <path key="bars" d="M7 8h5v16H7zM14 13h5v11h-5zM21 10h4v14h-4z" />,
];

const MARKS = [
  <circle key="dot" cx="16" cy="18" r="3" />,
  <path key="line" d="M6 15h20v3H6z" />,
  <path key="square" d="M13 13h6v6h-6z" />,
  <path key="corner" d="M16 16h10v10H16z" />,
];

export function Glyph({ seed, size }: { seed: string; size: number }) {
  const value = hash(seed);
  const tone = `var(--glyph-${value % TONES})`;
  return (
    <svg className="glyph" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" fill={tone} />
      <g fill="var(--glyph-paper)" transform={`rotate(${((value >>> 12) % 4) * 90} 16 16)`}>
        {SHAPES[(value >>> 4) % SHAPES.length]}
      </g>
      <g fill={tone}>{MARKS[(value >>> 8) % MARKS.length]}</g>
    </svg>
  );
}
