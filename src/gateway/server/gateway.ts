/** Judges each request, and carries it to its app or answers it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RetryLater } from '../../base/errors.ts'
import type { HeadLimits } from '../../base/request-head.ts'
import { andThen, caught, type Soon } from '../../base/soon.ts'
import type { IsTrusted } from '../../base/source.ts'
import { checkGatewayHead, checkUpgrade } from '../policy/head.ts'
import { notFoundPage } from '../policy/pages.ts'
import type { Site } from '../policy/site.ts'
import { type AppTarget, readTarget, withSlash } from '../policy/target.ts'
import type { Pump } from '../pump.ts'
import type { Carrier, Send } from './carrier.ts'
import type { Doorman } from './door.ts'
import type { Judge } from './judge.ts'
import type { OwnPages } from './own-pages.ts'
import { Refused, refusedBy } from './refused.ts'
import { Report, type ReportParts } from './report.ts'
import { Sources } from './sources.ts'
import { plain, upgradeVisitOf, type Visit, visitOf } from './visit.ts'

export interface GatewayParts extends ReportParts {
  readonly site: Site
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
      const refused = refusedBy(error)
      visit.answer(refused?.answer ?? plain(500, 'internal error'))
      if (refused) report.refused(refused)
      else report.failed(error)
    }
    void caught(() => this.#turn(visit, report, send), failed)
  }

  /** Everything is judged by the very head and target that go on. */
  #turn(visit: Visit, report: Report, send: Send): Soon<void> {
    const { incoming } = visit
    const { limits, site, pages, isOpen } = this.#parts
    if (!isOpen()) throw new RetryLater('this replica is not ready')
    checkGatewayHead(incoming, limits, site)
    const target = readTarget(incoming.url ?? '')
    report.leadsTo(target)
    if (target.kind === 'refused') {
      const { status, reason } = target
      throw new Refused(
        status === 404 ? 'unknown' : 'malformed',
        status === 404 ? notFoundPage() : plain(status, reason),
      )
    }
    if (visit.kind === 'websocket') checkUpgrade(incoming, site)
    if (target.kind === 'app') return this.#carry(visit, target, report, send)
    if (visit.kind === 'websocket') throw new Refused('unknown', notFoundPage())
    return pages.answer(visit, target, report).then(answer => {
      visit.answer(answer)
      report.served(answer.status)
    })
  }

  #carry(visit: Visit, target: AppTarget, report: Report, send: Send): Soon<void> {
    if (target.bare) {
      visit.answer({ status: 308, headers: { Location: withSlash(target), 'Cache-Control': 'no-store' }, body: '' })
      report.served(308)
      return
    }
    const { judge, carrier } = this.#parts
    return andThen(judge.judge(visit, target), entry => {
      report.isOf(entry.user)
      return carrier.carry({ visit, target, entry, report, send }).then(ending => report.carried(ending))
    })
  }
}
