/**
 * Errors that steer. One leaves the process by HTTP (`ApiError`); three tell the engine what to do next:
 * `RetryLater` (try again after a while), `NeedsSomeone` (no retry helps: fail in words), `Fenced` (no longer ours).
 */

/** One entry of the body of every error answer: `{"detail": [{"msg", "type", "loc"?}]}`. */
export interface ErrorDetail {
  readonly msg: string
  readonly type: string
  readonly loc?: readonly (string | number)[]
}

/** An answer other than success. Thrown by any room that serves a request; mapped to HTTP in one place. */
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

/** 503 with `Retry-After`: Redis, the identity source or a compare in progress is in the way for now. */
export function unavailable(msg: string, retryAfterSeconds = 1): ApiError {
  return new ApiError(503, { msg, type: 'unavailable' }, { 'Retry-After': String(retryAfterSeconds) })
}

/** 422 that names the field, as a path like `body`, `options`, `size`. */
export function invalid(msg: string, ...loc: (string | number)[]): ApiError {
  return new ApiError(422, { msg, type: 'invalid', loc })
}

/** 500: an administrator has to put it right, and no other request fares better until then. One entry for each problem. */
export function misconfigured(problems: readonly string[]): ApiError {
  return new ApiError(
    500,
    problems.map(msg => ({ msg, type: 'misconfigured' })),
  )
}

/** Thrown where trying again later may succeed; `afterMs` is how long the other side asked us to wait, if it did. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly afterMs: number | undefined

  constructor(message: string, afterMs?: number, options?: ErrorOptions) {
    super(message, options)
    this.afterMs = afterMs
  }
}

/** Thrown where only a person can help. The message is shown to the user as the reason. */
export class NeedsSomeone extends Error {
  override readonly name = 'NeedsSomeone'
}

/** Thrown when a write was refused because the operation, or its ownership, has moved on. Never shown to anyone. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}
