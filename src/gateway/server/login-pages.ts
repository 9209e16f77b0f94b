/** How people log in, as the gateway's own pages need it. Each way of `gateway.login` has its own (`login/`). */
import type { Answer, Visit } from './visit.ts'

/** Tells of a try to log in: the audit log, and the line of the request. */
export interface Tell {
  in(user: string, status: number): void
  /** @param reason one word of ours */
  out(reason: string, status: number): void
}

export interface LoginPages {
  /**
   * GET of the login page.
   * @param next where the login leads, as `checkNext` returned it
   * @throws {Refused}; {RetryLater} when Redis does not answer
   */
  begin(visit: Visit, next: string | undefined, tell: Tell): Promise<Answer>
  /** POST of a form of it. Absent: it has none. @throws as `begin` */
  submit?(visit: Visit, tell: Tell): Promise<Answer>
  /** GET of the way back. Absent: there is none. @throws as `begin` */
  finish?(visit: Visit, query: string, tell: Tell): Promise<Answer>
  /** Where the identity source ends its own session. An app's script can read it, so it has no secret; never rejects. */
  farewell?(): Promise<string | undefined>
}
