/** Carries a request that may go to its app: within bounds, told as activity, and cut when the right to it ends. */

import { appPrefix } from '../../apps/names.ts'
import type { AppRoute } from '../../base/app-route.ts'
import type { Clock } from '../../base/clock.ts'
import type { HeaderList } from '../../base/request-head.ts'
import { andThen, type Soon } from '../../base/soon.ts'
import { networkOf } from '../../base/source.ts'
import type { GatewayConfig } from '../../config/gateway.ts'
import type { Cuts } from '../access/cuts.ts'
import type { CutReason, Guard } from '../access/guard.ts'
import { fromApp, trailersFromApp } from '../policy/from-app.ts'
import { phasePage, problemPage, problems } from '../policy/pages.ts'
import type { Site } from '../policy/site.ts'
import { type AppTarget, pathForApp } from '../policy/target.ts'
import { toApp, trailersToApp } from '../policy/to-app.ts'
import type { Destination, Ending } from '../terms.ts'
import { OpenSocket } from '../websocket/socket.ts'
import type { Sockets } from '../websocket/sockets.ts'
import type { Activity } from './activity.ts'
import { Bound } from './bounds.ts'
import type { Entry, Judge } from './judge.ts'
import { Refused, withCookie } from './refused.ts'
import type { Report } from './report.ts'
import { plain, type Visit } from './visit.ts'

/** Sends the request to this destination. */
export type Send = (to: Destination) => Promise<Ending>

export interface CarrierParts {
  readonly config: GatewayConfig
  readonly cuts: Pick<Cuts, 'add'>
  readonly judge: Pick<Judge, 'startOf'>
  readonly activity: Pick<Activity, 'use' | 'saw' | 'begin'>
  readonly sockets: Sockets
  /** `api.limits.stallTimeoutSeconds`. */
  readonly stallMs: number
  readonly clock: Clock
}

export interface Carriage {
  readonly visit: Visit
  readonly target: AppTarget
  /** Where browsers see the app. */
  readonly site: Site
  readonly entry: Entry
  readonly report: Report
  readonly send: Send
}

/** For people, where their browser shows them. */
const cutWords: Readonly<Record<CutReason, string>> = {
  ended: 'the login has ended',
  forbidden: 'the app is for others now',
  gone: 'the app is gone',
  stopped: 'the app was stopped',
  unavailable: 'it cannot be checked who you are',
}

/** For the rest of a frame, once the right to it has ended. */
const lastFrameMs = 500

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
    const giveBack: (() => void)[] = [() => guard.remove()]
    try {
      giveBack.push(...this.#takePlaces(visit, entry))
      const use = this.#tellUse(carriage)
      giveBack.push(use instanceof Promise ? await use : use)
      // This process may have been halted since the verdict.
      if (!guard.mayPass()) await guard.look()
      if (stay.wasCut) throw new Refused('login', plain(401, 'log in first'))
      if (!guard.mayPass()) throw new Refused('unavailable', problemPage(problems.unavailable))
      const ending = await carriage.send(this.#destination(carriage, address, stay, guard))
      const problem = problemOf(ending)
      if (problem) {
        const page = withCookie(problemPage(problem), entry.cookie)
        carriage.report.answered(page.status)
        visit.answer(page)
      }
      return ending
    } finally {
      for (const each of giveBack) each()
    }
  }

  async #refusePhase({ visit, entry }: Carriage): Promise<never> {
    const { route, cookie } = entry
    const start = route.phase === 'Stopped' ? await this.#parts.judge.startOf(visit, entry) : undefined
    throw new Refused('phase', withCookie(phasePage(route, start), cookie))
  }

  /** In the app, and among those of one visitor: nobody takes an app from all others. */
  #takePlaces({ kind, from }: Visit, { route, user }: Entry): (() => void)[] {
    const isRequest = kind === 'request'
    const visitor = user === undefined ? `at ${networkOf(from.address ?? '')}` : `user ${user}`
    const ofVisitor = (isRequest ? this.#requestsOfUsers : this.#socketsOfUsers).take(visitor)
    const inApp = ofVisitor && (isRequest ? this.#requests : this.#sockets).take(route.id)
    if (inApp) return [inApp, ofVisitor]
    ofVisitor?.()
    throw new Refused('busy', problemPage(problems.busy))
  }

  /** @returns what ends the use */
  #tellUse({ visit, target, entry }: Carriage): Soon<() => void> {
    const { activity } = this.#parts
    if (!this.#isUse(target, entry)) return () => {}
    return andThen(activity.use(target.id), mayBeUsed => {
      if (!mayBeUsed) {
        const route: AppRoute = { ...entry.route, phase: 'Stopping', message: 'Nobody has used it for some time.' }
        throw new Refused('stopping', withCookie(phasePage(route), entry.cookie))
      }
      // An open WebSocket is no use by itself: only what its client sends is.
      return visit.kind === 'request' ? activity.begin(target.id) : () => {}
    })
  }

  #isUse({ id, path }: AppTarget, { user }: Entry): boolean {
    const { anonymous, ignorePaths } = this.#parts.config.activity
    const rest = path.slice(appPrefix(id).length)
    return (user !== undefined || anonymous) && !ignorePaths.some(ignored => rest.startsWith(ignored))
  }

  #destination(carriage: Carriage, { ip, port }: { ip: string; port: number }, stay: Stay, gate: Guard): Destination {
    const { visit, target, site, entry, report } = carriage
    const { activity } = this.#parts
    const { route, user, cookie, isForeignAuthorization } = entry
    const facts = { site, address: visit.from.address, user, isForeignAuthorization }
    return {
      ...{ host: ip, port, path: pathForApp(target, route), gate },
      headers: toApp(visit.incoming.rawHeaders, route, facts),
      answer: (status, headers) => {
        const isFinal = status >= 200 || status === 101
        if (isFinal) report.answered(status)
        const list = fromApp(headers, route, site)
        return isFinal && cookie !== undefined ? withSession(list, cookie) : list
      },
      trailers: (of, list) => (of === 'request' ? trailersToApp(list) : trailersFromApp(list)),
      opened: tunnel => {
        const isUse = this.#isUse(target, entry)
        const onInput = () => {
          if (isUse) activity.saw(route.id)
        }
        stay.opened(new OpenSocket({ tunnel, clock: this.#parts.clock, stallMs: this.#parts.stallMs, onInput }))
      },
    }
  }
}

/** A request at an app, or an open WebSocket of one. */
class Stay {
  /** Why, once it is. */
  wasCut: CutReason | undefined
  readonly #visit: Visit
  readonly #parts: Pick<CarrierParts, 'sockets'>
  #socket: OpenSocket | undefined

  constructor(visit: Visit, parts: Pick<CarrierParts, 'sockets'>) {
    this.#visit = visit
    this.#parts = parts
  }

  opened(socket: OpenSocket): void {
    this.#socket = socket
    const remove = this.#parts.sockets.add(socket)
    this.#visit.incoming.socket.once('close', remove)
    // It was on its way to the app when its right ended.
    if (this.wasCut) this.#end(this.wasCut)
  }

  cut(reason: CutReason): void {
    if (this.wasCut) return
    this.wasCut = reason
    this.#end(reason)
  }

  #end(reason: CutReason): void {
    if (this.#socket) this.#socket.close(1008, cutWords[reason], lastFrameMs)
    else this.#visit.cut()
  }
}

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

const caching = new Set(['cache-control', 'cdn-cache-control', 'surrogate-control', 'expires', 'pragma'])

/** A cache before the gateway must not give the session of one visitor to another. */
function withSession(list: HeaderList, cookie: string): HeaderList {
  const kept: string[] = []
  for (let i = 0; i < list.length; i += 2) {
    if (!caching.has(list[i]!.toLowerCase())) kept.push(list[i]!, list[i + 1]!)
  }
  return [...kept, 'Cache-Control', 'no-store', 'Set-Cookie', cookie]
}

function problemOf(ending: Ending) {
  if (ending === 'refused' || ending === 'silent' || ending === 'unframed') return problems[ending]
  return undefined
}
