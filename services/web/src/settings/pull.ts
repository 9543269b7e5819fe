/** Fetching a model into an Ollama: one request that tells how far it is. */
import { guarded, noteFailure } from '../api/client';
import { ApiError, readFailure, Unreachable } from '../api/failure';
import type { PullProgress } from '../api/shapes';
import { SseParser } from '../transport/sse';

const PATH = '/api/ollama/pull';

/** Tells of each step; ends when the model is there. The fetching goes on when nobody listens any more. */
export async function pullModel(
  wish: { provider: string; model: string },
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(PATH, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify(wish),
    signal,
  }).catch((failure: unknown) => {
    throw signal.aborted ? failure : new Unreachable();
  });
  if (!response.ok || !response.body) {
    const failure = await readFailure(response);
    noteFailure(failure);
    throw failure;
  }
  const parser = new SseParser();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of parser.push(value)) onProgress(checked(JSON.parse(event.data)));
  }
}

/** Stops it, whoever began. */
export const stopPull = (wish: { provider: string; model: string }) => guarded<void>('DELETE', PATH, wish);

/** The answer had begun when it broke: only its last event could say so. */
function checked(progress: PullProgress): PullProgress {
  if (progress.error) throw new ApiError(502, 'pull_failed', progress.error);
  return progress;
}
