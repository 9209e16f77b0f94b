/**
 * Errors that decide what happens next. `ApiError` becomes an HTTP response. The engine handles four others:
 * `RetryLater` (try again later), `NeedsSomeone` (no retry helps: fail with a reason), `Fenced` (no longer ours), `LetGo` (a
 * new claim helps).
 */

/** One entry of the body of every error answer: `{"detail": [{"msg", "type", "loc"?}]}`. */
export interface ErrorDetail {
  readonly msg: string
  readonly type: string
  readonly loc?: readonly (string | number)[]
}

/** A response other than success. Any room that serves a request may throw it; one place maps it to HTTP. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly detail: readonly ErrorDetail[]
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, detail: ErrorDetail | readonly ErrorDetail[], headers: Record<string, string> = {}) {
    const list = Array.isArray(detail) ? (detail as readonly ErrorDetail[]) : [detail as ErrorDetail]
    super(list.map(entry => entry.msg).join('; '))
    this.status = status
    this.detail = list
    this.headers = headers
  }
}

/** 503 with `Retry-After`: Redis, the identity source or a compare in progress prevents an answer for now. */
export function unavailable(msg: string, retryAfterSeconds = 1): ApiError {
  return new ApiError(503, { msg, type: 'unavailable' }, { 'Retry-After': String(retryAfterSeconds) })
}

/** 422 that names the field, as a path like `body`, `options`, `size`. */
export function invalid(msg: string, ...loc: (string | number)[]): ApiError {
  return new ApiError(422, { msg, type: 'invalid', loc })
}

/** 500: an administrator must correct the configuration, and every request fails until then. One entry per problem. */
export function misconfigured(problems: readonly string[]): ApiError {
  return new ApiError(
    500,
    problems.map(msg => ({ msg, type: 'misconfigured' })),
  )
}

/** Thrown where a later attempt may succeed. `afterMs` is the wait that the other side asked for, if it did. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly afterMs: number | undefined

  constructor(message: string, afterMs?: number, options?: ErrorOptions) {
    super(message, options)
    this.afterMs = afterMs
  }
}

/** Whether an error says only that there is no answer now: the same question may be answered a moment later. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof RetryLater || (error instanceof ApiError && error.status === 503)

/** Thrown where only a person can help. The message is shown to the user as the reason. */
export class NeedsSomeone extends Error {
  override readonly name = 'NeedsSomeone'
}

/** Thrown when a write was refused because the operation or its owner has changed. Never shown to anyone. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/** Thrown where another claim, here or by another replica, may do better: the operation is given back at once. */
export class LetGo extends Error {
  override readonly name = 'LetGo'
}
