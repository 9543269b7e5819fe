/** Fetches the gateway's OpenAPI document into openapi.json, sorted, so that its diff can be read.
 * `npm run api [-- URL]`; without a URL the running deployment on the usual port is asked. */
import { writeFile } from 'node:fs/promises';

const address = process.argv[2] ?? process.env.RETINUE_DEV_GATEWAY ?? 'http://127.0.0.1:8700';
const response = await fetch(new URL('/openapi.json', address));
if (!response.ok) throw new Error(`${address}/openapi.json answered ${response.status}`);
await writeFile(
  new URL('../openapi.json', import.meta.url),
  `${JSON.stringify(sorted(await response.json()), null, 2)}\n`,
);

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
