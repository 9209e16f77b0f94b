/** Makes every unsuccessful answer, in one form: `{"detail": [{"msg", "type", "loc"?}]}`. */
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { z } from 'zod'
import { ApiError, type ErrorDetail, RetryLater, unavailable } from '../../base/errors.ts'
import type { ApiEnv } from './env.ts'

/** The parts of a request, by the framework's names, in the terms of `loc`. */
const places: Record<string, string> = { json: 'body', param: 'path', header: 'header', query: 'query' }

/** At most this many problems per response, so that an error is never larger than the request. */
const maxDetails = 50
const maxNameLength = 128

export function errorResponse(error: ApiError): Response {
  const headers = { 'Content-Type': 'application/json', ...error.headers }
  return new Response(JSON.stringify(errorBodyOf(error)), { status: error.status, headers })
}

/** The common form, with texts of clients cut short. */
export function errorBodyOf({ detail }: ApiError): { detail: ErrorDetail[] } {
  return {
    detail: detail.slice(0, maxDetails).map(({ msg, type, loc }) => ({
      msg,
      type,
      ...(loc && { loc: loc.map(part => (typeof part === 'string' ? shortened(part) : part)) }),
    })),
  }
}

function shortened(name: string): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength)}…`
}

/** The client's error for a thrown one; undefined for an unexpected one. */
export function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof RetryLater) return unavailable(error.message, Math.ceil((error.afterMs ?? 1000) / 1000))
  if (error instanceof HTTPException) return frameworkError(error.status)
  return undefined
}

/** Whether an administrator has to correct something, and the cause is not a defect. */
export function isMisconfigured(error: unknown): boolean {
  return error instanceof ApiError && error.detail.some(({ type }) => type === 'misconfigured')
}

/** Hono's hook for everything that is thrown while a request is served. */
export function onError(error: Error, c: Context<ApiEnv>): Response {
  const known = toApiError(error)
  if (known !== undefined) return errorResponse(known)
  c.get('log').error({ err: error }, 'request failed')
  return errorResponse(new ApiError(500, { msg: 'internal error', type: 'internal' }))
}

/** Hono's hook for paths without a route. */
export function notFound(): Response {
  return errorResponse(new ApiError(404, { msg: 'no such route', type: 'not_found' }))
}

/** 404: the user has no lab, or no stored events. */
export function noLab(msg: string): ApiError {
  return new ApiError(404, { msg, type: 'unknown_user', loc: ['path', 'username'] })
}

/** The same if no part of the path names the user. */
export function noOwnLab(msg: string): ApiError {
  return new ApiError(404, { msg, type: 'unknown_user' })
}

/** The handler of a path for all methods that it lacks. */
export function methodNotAllowed(allowed: readonly string[]) {
  const error = new ApiError(
    405,
    { msg: 'method not allowed', type: 'method_not_allowed' },
    { Allow: allowed.join(', ') },
  )
  return () => errorResponse(error)
}

/** 413, for bodies beyond `api.limits.maxBodyBytes`. */
export function tooLarge(): never {
  throw new ApiError(413, { msg: 'the body is too large', type: 'too_large', loc: ['body'] })
}

/** 415, for bodies that are not declared as JSON. */
export function notJson(): ApiError {
  return new ApiError(415, {
    msg: 'the body must be application/json',
    type: 'not_json',
    loc: ['header', 'content-type'],
  })
}

/** The hook of all validators: 422 with one entry for each problem. */
export function onInvalid(result: { success: boolean; target: string; error?: z.core.$ZodError }): void {
  if (result.success || result.error === undefined) return
  const place = places[result.target] ?? result.target
  throw new ApiError(422, firstDetails(result.error.issues, place))
}

/** Stops at the number of problems that an answer has. */
function firstDetails(issues: readonly z.core.$ZodIssue[], place: string): ErrorDetail[] {
  const details: ErrorDetail[] = []
  for (const issue of issues) {
    if (details.length >= maxDetails) break
    details.push(...issueDetails(issue, place))
  }
  return details
}

function issueDetails(issue: z.core.$ZodIssue, place: string): ErrorDetail[] {
  const loc = [place, ...issue.path.map(key => (typeof key === 'number' ? key : String(key)))]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxDetails).map(key => ({ msg: 'unknown key', type: 'unknown_key', loc: [...loc, key] }))
  }
  if (issue.code === 'invalid_key') return [{ msg: 'not the name of a variable', type: 'invalid', loc }]
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
    return [{ msg: 'is required', type: 'missing', loc }]
  }
  return [{ msg: issue.message.replace(/^Invalid input: /, ''), type: 'invalid', loc }]
}

function frameworkError(status: ContentfulStatusCode): ApiError {
  if (status === 415) return notJson()
  if (status === 413) return new ApiError(413, { msg: 'the body is too large', type: 'too_large', loc: ['body'] })
  return new ApiError(400, { msg: 'the body is not well-formed JSON', type: 'malformed', loc: ['body'] })
}
