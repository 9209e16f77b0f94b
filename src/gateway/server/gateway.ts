/** Judges each request, and carries it to its app or answers it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { appPrefix } from '../../apps/names.ts'
import { RetryLater } from '../../base/errors.ts'
import type { HeadLimits } from '../../base/request-head.ts'
import { andThen, caught, type Soon } from '../../base/soon.ts'
import type { IsTrusted } from '../../base/source.ts'
import { checkGatewayHead, checkUpgrade, isNavigation } from '../policy/head.ts'
import { type Hosts, type Place, wayOf } from '../policy/hosts.ts'
import { endOfWorker, isForWorker } from '../policy/old-workers.ts'
import { notFoundPage } from '../policy/pages.ts'
import { type AppTarget, type OwnTarget, type RefusedTarget, readTarget, withSlash } from '../policy/target.ts'
import type { Pump } from '../pump.ts'
import type { Carriage, Send } from './carriage.ts'
import type { Carrier } from './carrier.ts'
import type { Doorman } from './door.ts'
import type { Judge } from './judge.ts'
import type { OwnPages } from './own-pages.ts'
import { Refused, refusedBy } from './refused.ts'
import { Report, type ReportParts } from './report.ts'
import { Sources } from './sources.ts'
import { type Answer, plain, redirect, upgradeVisitOf, type Visit, visitOf } from './visit.ts'
import type { WayIn } from './way-in.ts'

export interface GatewayParts extends ReportParts {
  readonly hosts: Hosts
  /** Where each app has a host of its own: the way there. */
  readonly wayIn?: Pick<WayIn, 'leave'> | undefined
  readonly limits: HeadLimits
  readonly isTrusted: IsTrusted
  readonly pump: Pick<Pump, 'request' | 'upgrade'>
  readonly judge: Judge
  readonly carrier: Carrier
  readonly pages: OwnPages
  /** Before it nothing is let through. */
  readonly isOpen: () => boolean
}

export class Gateway implements Doorman {
  readonly #parts: GatewayParts
  readonly #sources: Sources

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.#sources = new Sources(parts.isTrusted)
  }

  request(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const visit = visitOf(incoming, outgoing, this.#sources.of(incoming))
    this.#serve(visit, to => this.#parts.pump.request(incoming, outgoing, to))
  }

  upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const visit = upgradeVisitOf(incoming, socket, this.#sources.of(incoming))
    this.#serve(visit, to => this.#parts.pump.upgrade(incoming, socket, head, to))
  }

  #serve(visit: Visit, send: Send): void {
    const report = new Report(this.#parts, visit)
    const failed = (error: unknown) => {
      const refused = this.#left(visit, refusedBy(error))
      visit.answer(refused.answer)
      if (refused instanceof Refused) report.refused(refused)
      else report.failed(error)
    }
    void caught(() => this.#turn(visit, report, send), failed)
  }

  /** The answer to what failed. None makes a document of an address that has a code. */
  #left(visit: Visit, refused: Refused | undefined): Refused | { readonly answer: Answer } {
    // A redirect makes none.
    const away = refused?.answer.status === 303 ? undefined : this.#parts.wayIn?.leave(visit, refused?.reason)
    if (!away) return refused ?? { answer: plain(500, 'internal error') }
    return refused ? new Refused(refused.reason, away) : { answer: away }
  }

  /** Everything is judged by the very head and target that go on. */
  #turn(visit: Visit, report: Report, send: Send): Soon<void> {
    const { incoming } = visit
    const { limits, hosts, pages, isOpen } = this.#parts
    if (!isOpen()) throw new RetryLater('this replica is not ready')
    const place = checkGatewayHead(incoming, limits, hosts)
    const target = readTarget(incoming.url ?? '')
    report.leadsTo(target)
    if (target.kind === 'refused') throw this.#nowhere(visit, target, place)
    if (visit.kind === 'websocket') checkUpgrade(incoming, place.site)
    if (hosts.areSplit) this.#requireHere(visit, target, place)
    if (target.kind === 'app') return this.#carry({ visit, target, site: place.site, report, send })
    if (visit.kind === 'websocket') throw new Refused('unknown', notFoundPage())
    return pages.answer(visit, target, report, place.appId).then(answer => {
      visit.answer(answer)
      report.served(answer.status)
    })
  }

  #nowhere({ incoming }: Visit, { status, reason }: RefusedTarget, { appId }: Place): Refused {
    if (status === 400) return new Refused('malformed', plain(status, reason))
    // People type the host alone.
    const isFront = appId !== undefined && incoming.url === '/' && isNavigation(incoming)
    return isFront ? new Refused('elsewhere', redirect(`${appPrefix(appId)}/`)) : new Refused('unknown', notFoundPage())
  }

  /** Where each app has a host of its own. @throws {Refused} for what another host has, and with the way to an app's host */
  #requireHere({ incoming }: Visit, target: AppTarget | OwnTarget, place: Place): void {
    const way = wayOf(target, place)
    if (way === 'here') return
    if (way === 'unknown') throw new Refused('unknown', notFoundPage())
    if (way === 'app' && isForWorker(incoming.headers)) throw new Refused('elsewhere', endOfWorker)
    if (way === 'app' && target.kind === 'app' && isNavigation(incoming)) {
      throw new Refused('elsewhere', redirect(this.#parts.hosts.ofApp(target.id).origin + target.path))
    }
    throw new Refused('elsewhere', plain(421, 'this app is at another host'))
  }

  #carry(asked: Omit<Carriage, 'entry'>): Soon<void> {
    const { visit, target, site, report, send } = asked
    if (target.bare) {
      visit.answer({ status: 308, headers: { Location: withSlash(target), 'Cache-Control': 'no-store' }, body: '' })
      report.served(308)
      return
    }
    const { judge, carrier } = this.#parts
    return andThen(judge.judge(visit, target), entry => {
      report.isOf(entry.user)
      return carrier.carry({ visit, target, site, entry, report, send }).then(ending => report.carried(ending))
    })
  }
}
