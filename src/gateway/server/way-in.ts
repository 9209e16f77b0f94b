/** The way to hosts of apps, as the server needs it. `hosts/entering.ts` knows it. */
import type { PresentedSession } from '../access/access.ts'
import type { AppTarget } from '../policy/target.ts'
import type { Tell } from './login-pages.ts'
import type { Reason } from './refused.ts'
import type { Answer, Visit } from './visit.ts'

export interface WayIn {
  /** At the host of an app: who a visitor says to be. */
  presentedBy(visit: Visit): PresentedSession | undefined
  /** At the host of an app: whether its session is no sign that its visitor wants this. */
  isOfOtherPage(visit: Visit, id: string): boolean
  /** At the host of an app: to the platform, with a nonce for this browser; 401 where no tab asks. It says nothing of whether there is such an app. */
  begin(visit: Visit, target: AppTarget): Answer
  /**
   * At the platform: leads a visitor who may go to the app back to it, with a code.
   * @throws {Refused} for everybody else; {RetryLater} when Redis does not answer
   */
  lead(visit: Visit, id: string, query: string): Promise<Answer>
  /**
   * At the host of an app: makes a session for a visitor who comes with a code.
   * @throws {Refused} for everybody else, and when Redis does not answer
   */
  arrive(visit: Visit, appId: string, query: string, tell: Tell): Promise<Answer>
  /**
   * Instead of the answer to an arrival that is refused for this reason, or by a defect: an address without the code. Its page, too,
   * may be refused.
   * @returns undefined for all other requests
   */
  leave(visit: Visit, reason: Reason | undefined): Answer | undefined
  /** The page that starts an app. */
  startAt(id: string): string
}
