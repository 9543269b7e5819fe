/** What went wrong with a request, with words fit to show. */
import { strings } from '../strings';

/** The server answered, and said no. `code` is its `error` field. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** Seconds after which the server wants to be asked again. */
  readonly retryAfter: number | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, code: string, message: string, retryAfter?: number, requestId?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }
}

/** No answer came: offline, refused, reset. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';

  constructor() {
    super(strings.errors.unreachable);
  }
}

/** Reads the server's error out of a response that is not a success. */
export async function readFailure(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => undefined);
  const fields = body && typeof body === 'object' ? (body as Record<string, unknown>) : {};
  const code = typeof fields.error === 'string' ? fields.error : `http_${response.status}`;
  const message = typeof fields.message === 'string' ? fields.message : strings.errors.byStatus(response.status);
  const retryAfter = Number(response.headers.get('retry-after'));
  const requestId = response.headers.get('x-request-id') ?? undefined;
  return new ApiError(response.status, code, message, retryAfter > 0 ? retryAfter : undefined, requestId);
}

/** Words for any failure: what happened, when to come again, what to name in a report. */
export function describe(failure: unknown): string {
  if (failure instanceof Unreachable) return failure.message;
  if (!(failure instanceof ApiError)) return strings.errors.unexpected;
  // The server's own words may say it already.
  const isSaid = /try again/i.test(failure.message);
  const wait = failure.retryAfter && !isSaid ? ` ${strings.errors.comeBack(failure.retryAfter)}` : '';
  const report = failure.status >= 500 && failure.requestId ? ` ${strings.errors.report(failure.requestId)}` : '';
  return failure.message + wait + report;
}
