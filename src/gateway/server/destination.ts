/** Where a judged request goes, and what it becomes on the way: headers by policy, and a connection that can be cut. */
import type { AppRoute } from '../../base/app-route.ts'
import type { HeaderList } from '../../base/request-head.ts'
import type { CutReason, Guard } from '../access/guard.ts'
import { fromApp, trailersFromApp } from '../policy/from-app.ts'
import { pathForApp } from '../policy/target.ts'
import { toApp, trailersToApp } from '../policy/to-app.ts'
import type { Destination, Tunnel } from '../terms.ts'
import { OpenSocket } from '../websocket/socket.ts'
import { type Carriage, type CarrierParts, isUse } from './carriage.ts'
import type { Visit } from './visit.ts'

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

export interface DestinationParts {
  readonly carriage: Carriage
  readonly address: NonNullable<AppRoute['address']>
  readonly gate: Guard
  readonly stay: Stay
  readonly parts: Pick<CarrierParts, 'activity' | 'clock' | 'config' | 'stallMs'>
}

/** Each request has one, so its methods are not made anew. */
export class AppDestination implements Destination {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly headers: HeaderList
  readonly gate: Guard
  readonly #parts: DestinationParts

  constructor(parts: DestinationParts) {
    this.#parts = parts
    const { address, gate, carriage } = parts
    const { visit, target, site, entry } = carriage
    const { route, user, isForeignAuthorization } = entry
    this.host = address.ip
    this.port = address.port
    this.path = pathForApp(target, route)
    this.gate = gate
    const facts = { site, address: visit.from.address, user, isForeignAuthorization }
    this.headers = toApp(visit.incoming.rawHeaders, route, facts)
  }

  answer(status: number, headers: HeaderList): HeaderList {
    const { report, entry, site } = this.#parts.carriage
    const isFinal = status >= 200 || status === 101
    if (isFinal) report.answered(status)
    const list = fromApp(headers, entry.route, site)
    return isFinal && entry.cookie !== undefined ? withSession(list, entry.cookie) : list
  }

  trailers(of: 'request' | 'answer', list: HeaderList): HeaderList {
    return of === 'request' ? trailersToApp(list) : trailersFromApp(list)
  }

  opened(tunnel: Tunnel): void {
    const { stay, parts, carriage } = this.#parts
    const { target, entry } = carriage
    const { activity, clock, stallMs, config } = parts
    const isOfUse = isUse(target, entry, config)
    const onInput = () => {
      if (isOfUse) activity.saw(entry.route.id)
    }
    stay.opened(new OpenSocket({ tunnel, clock, stallMs, onInput }))
  }
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

/** A request at an app, or an open WebSocket of one. */
export class Stay {
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
