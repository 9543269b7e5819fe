/** Outputs of tools that were too large to be shown whole (docs/reference/blobs.md). */

export interface CutOutput {
  text: string;
  /** Bytes that are not shown, and of the whole. */
  missing: number;
  whole: number;
  /** Where the whole is; nowhere if it could not be kept. */
  href: string | undefined;
}

/** What was left out of this output; nothing if it is whole. A tool may return anything: only our own address is one. */
export function cutOutput(output: unknown): CutOutput | undefined {
  if (!isRecord(output) || typeof output.text !== 'string' || !isRecord(output.left_out)) return undefined;
  const { bytes, of, blob } = output.left_out;
  if (typeof bytes !== 'number' || typeof of !== 'number') return undefined;
  const href = typeof blob === 'string' && UUID.test(blob) ? `/api/blobs/${blob}` : undefined;
  return { text: output.text, missing: bytes, whole: of, href };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
