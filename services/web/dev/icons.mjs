/** Draws the icons of the installed page, as `public/favicon.svg` has it: `node dev/icons.mjs` writes `public/icons/`.
 * Drawn here, point by point, so that no image tool is needed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

const FOLDER = new URL('../public/icons/', import.meta.url);
const GROUND = [0x0f, 0x76, 0x6e];
const PAPER = [0xcc, 0xfb, 0xf1];
/** Points per pixel and direction, for smooth edges. */
const FINE = 4;

/** `round`: the corners' radius; `scale`: of the sign, smaller where a phone cuts the icon's edge off. */
const ICONS = [
  { name: 'icon-192', size: 192, round: 8, scale: 1 },
  { name: 'icon-512', size: 512, round: 8, scale: 1 },
  { name: 'maskable-512', size: 512, round: 0, scale: 0.8 },
  { name: 'apple-180', size: 180, round: 0, scale: 0.9 },
];

/** The colour at a place of the 32 × 32 drawing; none outside it. */
function colourAt(x, y, { round, scale }) {
  const dx = Math.max(round - x, x - (32 - round), 0);
  const dy = Math.max(round - y, y - (32 - round), 0);
  if (dx * dx + dy * dy > round * round) return undefined;
  const signX = (x - 16) / scale + 16;
  const signY = (y - 16) / scale + 16;
  if ((signX - 16) ** 2 + (signY - 19) ** 2 <= 9) return GROUND;
  const isInside = signY >= 8 && signY <= 24 && Math.abs(signX - 16) <= (signY - 8) / 2;
  return isInside ? PAPER : GROUND;
}

function pixel(column, row, icon) {
  const sum = [0, 0, 0, 0];
  for (let fine = 0; fine < FINE * FINE; fine += 1) {
    const x = ((column + ((fine % FINE) + 0.5) / FINE) * 32) / icon.size;
    const y = ((row + (Math.floor(fine / FINE) + 0.5) / FINE) * 32) / icon.size;
    const colour = colourAt(x, y, icon);
    if (!colour) continue;
    for (let part = 0; part < 3; part += 1) sum[part] += colour[part];
    sum[3] += 1;
  }
  const inside = sum[3] || 1;
  return [sum[0] / inside, sum[1] / inside, sum[2] / inside, (255 * sum[3]) / FINE ** 2].map(Math.round);
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

function png(icon) {
  const rows = Buffer.alloc(icon.size * (icon.size * 4 + 1));
  let at = 0;
  for (let row = 0; row < icon.size; row += 1) {
    at += 1; // filter 0: as it is
    for (let column = 0; column < icon.size; column += 1)
      for (const part of pixel(column, row, icon)) rows[at++] = part;
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(icon.size, 0);
  head.writeUInt32BE(icon.size, 4);
  head.set([8, 6, 0, 0, 0], 8); // 8 bits, colour with transparency
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

mkdirSync(FOLDER, { recursive: true });
for (const icon of ICONS) writeFileSync(new URL(`${icon.name}.png`, FOLDER), png(icon));
