/** Carries a request that may go to its app: within bounds, reported as activity, and cut when the right to it ends. */
import type { AppRoute } from '../../base/app-route.ts'
import { remembered } from '../../base/remembered.ts'
import { andThen, type Soon } from '../../base/soon.ts'
import { networkOf } from '../../base/source.ts'
import type { CutReason } from '../access/guard.ts'
import { phasePage, problemPage, problems } from '../policy/pages.ts'
import type { Ending } from '../terms.ts'
import { Bound } from './bounds.ts'
import { type Carriage, type CarrierParts, isUse } from './carriage.ts'
import { AppDestination, Stay } from './destination.ts'
import type { Entry } from './judge.ts'
import { Refused, withCookie } from './refused.ts'
import { plain, type Visit } from './visit.ts'

export class Carrier {
  readonly #parts: CarrierParts
  readonly #requests: Bound
  readonly #requestsOfUsers: Bound
  readonly #sockets: Bound
  readonly #socketsOfUsers: Bound

  constructor(parts: CarrierParts) {
    this.#parts = parts
    const { requestsPerApp, requestsPerUser, socketsPerApp, socketsPerUser } = parts.config.limits
    this.#requests = new Bound(requestsPerApp)
    this.#requestsOfUsers = new Bound(requestsPerUser)
    this.#sockets = new Bound(socketsPerApp)
    this.#socketsOfUsers = new Bound(socketsPerUser)
  }

  /** Open now. */
  get open(): Readonly<Record<'request' | 'websocket', number>> {
    return { request: this.#requests.total, websocket: this.#sockets.total }
  }

  /** @throws {Refused} where it is not carried after all */
  async carry(carriage: Carriage): Promise<Ending> {
    const { visit, entry } = carriage
    const address = addressOf(entry.route) ?? (await this.#refusePhase(carriage))
    const stay = new Stay(visit, this.#parts)
    // Before anything is awaited: a right that ends from now on ends this too.
    const guard = this.#parts.cuts.add(openingOf(entry, reason => stay.cut(reason)))
    const giveBack: (() => void)[] = []
    try {
      this.#takePlaces(visit, entry, giveBack)
      const use = this.#tellUse(carriage)
      const endUse = use instanceof Promise ? await use : use
      if (endUse) giveBack.push(endUse)
      // This process may have been halted since the verdict.
      if (!guard.mayPass()) await guard.look()
      if (stay.wasCut) throw new Refused('login', plain(401, 'log in first'))
      if (!guard.mayPass()) throw new Refused('unavailable', problemPage(problems.unavailable))
      const ending = await carriage.send(
        new AppDestination({ carriage, address, gate: guard, stay, parts: this.#parts }),
      )
      const problem = problemOf(ending)
      if (problem) {
        const page = withCookie(problemPage(problem), entry.cookie)
        carriage.report.answered(page.status)
        visit.answer(page)
      }
      return ending
    } finally {
      guard.remove()
      for (const each of giveBack) each()
    }
  }

  async #refusePhase({ visit, entry }: Carriage): Promise<never> {
    const { route, cookie } = entry
    const start = route.phase === 'Stopped' ? await this.#parts.judge.startOf(visit, entry) : undefined
    throw new Refused('phase', withCookie(phasePage(route, start), cookie))
  }

  /**
   * In the app, and among those of one visitor: nobody takes an app from all others.
   * @param giveBack gets what gives both back
   */
  #takePlaces({ kind, from }: Visit, { route, user }: Entry, giveBack: (() => void)[]): void {
    const isRequest = kind === 'request'
    const visitor = user === undefined ? `at ${networkOf(from.address ?? '')}` : nameOfUser(user)
    const ofVisitor = (isRequest ? this.#requestsOfUsers : this.#socketsOfUsers).take(visitor)
    const inApp = ofVisitor && (isRequest ? this.#requests : this.#sockets).take(route.id)
    if (ofVisitor) giveBack.push(ofVisitor)
    if (!inApp) throw new Refused('busy', problemPage(problems.busy))
    giveBack.push(inApp)
  }

  /** @returns what ends the use, where something does */
  #tellUse({ visit, target, entry }: Carriage): Soon<(() => void) | undefined> {
    const { activity, config } = this.#parts
    if (!isUse(target, entry, config)) return undefined
    return andThen(activity.use(target.id), mayBeUsed => {
      if (!mayBeUsed) {
        const route: AppRoute = { ...entry.route, phase: 'Stopping', message: 'Nobody has used it for some time.' }
        throw new Refused('stopping', withCookie(phasePage(route), entry.cookie))
      }
      // An open WebSocket is no use by itself: only what its client sends is.
      return visit.kind === 'request' ? activity.begin(target.id) : undefined
    })
  }
}

const nameOfUser = remembered(user => `user ${user}`)

const openingOf = ({ admission: { route, admitted, person, bearer } }: Entry, cut: (reason: CutReason) => void) => ({
  appId: route.id,
  appUid: route.uid,
  admitted,
  person,
  bearer,
  cut,
})

/** Undefined where the app does not run. */
function addressOf({ phase, address }: AppRoute): AppRoute['address'] {
  return phase === 'Ready' || phase === 'Updating' ? address : undefined
}

function problemOf(ending: Ending) {
  if (ending === 'refused' || ending === 'silent' || ending === 'unframed') return problems[ending]
  return undefined
}
