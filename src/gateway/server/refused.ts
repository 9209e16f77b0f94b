/** A request that goes to no app, and why: a word for metrics, and the answer. */
import { ApiError, RetryLater } from '../../base/errors.ts'
import { type Page, problemPage, problems } from '../policy/pages.ts'
import { type Answer, plain } from './visit.ts'

export type Reason =
  | 'malformed'
  | 'login'
  | 'forbidden'
  | 'unknown'
  | 'unavailable'
  | 'origin'
  | 'phase'
  | 'stopping'
  | 'busy'
  | 'form'
  | 'entry'
  | 'elsewhere'
  | 'slow'

export class Refused extends Error {
  override readonly name = 'Refused'
  readonly reason: Reason
  readonly answer: Answer

  constructor(reason: Reason, answer: Answer) {
    super(reason)
    this.reason = reason
    this.answer = answer
  }
}

const reasons: Readonly<Record<number, Reason>> = { 403: 'origin', 429: 'slow' }

/** @returns undefined for a defect */
export function refusedBy(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error
  if (error instanceof RetryLater) return new Refused('unavailable', problemPage(problems.unavailable))
  if (!(error instanceof ApiError)) return undefined
  if (error.status === 503) return new Refused('unavailable', problemPage(problems.unavailable))
  const reason = reasons[error.status] ?? 'malformed'
  return new Refused(reason, plain(error.status, error.message, error.headers))
}

/** For a method that no page of this address has. */
export const notServed = (allow: string) =>
  new Refused('malformed', plain(405, 'the method is not served', { Allow: allow }))

/** A page that also sets a cookie. */
export const withCookie = (page: Page | Answer, cookie: string | undefined): Answer =>
  cookie === undefined ? page : { ...page, headers: { ...page.headers, 'Set-Cookie': cookie } }
