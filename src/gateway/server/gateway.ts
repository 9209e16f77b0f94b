/** Judges each request, and carries it to its app or answers it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RetryLater } from '../../base/errors.ts'
import type { HeadLimits } from '../../base/request-head.ts'
import { type IsTrusted, sourceOf } from '../../base/source.ts'
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

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  request(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const visit = visitOf(incoming, outgoing, this.#from(incoming))
    void this.#serve(visit, to => this.#parts.pump.request(incoming, outgoing, to))
  }

  upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const visit = upgradeVisitOf(incoming, socket, this.#from(incoming))
    void this.#serve(visit, to => this.#parts.pump.upgrade(incoming, socket, head, to))
  }

  async #serve(visit: Visit, send: Send): Promise<void> {
    const report = new Report(this.#parts, visit)
    try {
      await this.#turn(visit, report, send)
    } catch (error) {
      const refused = refusedBy(error)
      visit.answer(refused?.answer ?? plain(500, 'internal error'))
      if (refused) report.refused(refused)
      else report.failed(error)
    }
  }

  /** Everything is judged by the very head and target that go on. */
  async #turn(visit: Visit, report: Report, send: Send): Promise<void> {
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
    if (target.kind === 'app') await this.#carry(visit, target, report, send)
    else if (visit.kind === 'websocket') throw new Refused('unknown', notFoundPage())
    else {
      const answer = await pages.answer(visit, target, report)
      visit.answer(answer)
      report.served(answer.status)
    }
  }

  async #carry(visit: Visit, target: AppTarget, report: Report, send: Send): Promise<void> {
    if (target.bare) {
      visit.answer({ status: 308, headers: { Location: withSlash(target), 'Cache-Control': 'no-store' }, body: '' })
      report.served(308)
      return
    }
    const { judge, carrier } = this.#parts
    const entry = await judge.judge(visit, target)
    report.isOf(entry.user)
    report.carried(await carrier.carry({ visit, target, entry, report, send }))
  }

  #from({ socket, headers }: IncomingMessage) {
    return sourceOf(socket.remoteAddress, String(headers['x-forwarded-for'] ?? '') || undefined, this.#parts.isTrusted)
  }
}
