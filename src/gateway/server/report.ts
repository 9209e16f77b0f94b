/** Reports each request: metrics, a line of the log, a span. Only lines and spans name apps and people. */
import { STATUS_CODES } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import type { GatewayMetrics } from '../../telemetry/gateway-metrics.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { originFields, type Span, type Tracing } from '../../telemetry/tracing.ts'
import type { Target } from '../policy/target.ts'
import type { Ending } from '../terms.ts'
import type { Refused } from './refused.ts'
import type { Visit } from './visit.ts'

export interface ReportParts {
  readonly metrics: Pick<Metrics, 'httpRequestDuration' | 'httpRequestsInFlight' | 'httpFaults'>
  readonly gatewayMetrics: GatewayMetrics
  readonly tracing: Tracing
  readonly clock: Clock
  readonly log: Logger
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** The app's fault, or its connection's: to find it, operators need a line. */
const troubled = new Set<Ending>(['refused', 'silent', 'cut'])

export class Report {
  readonly #parts: ReportParts
  readonly #visit: Visit
  readonly #span: Span
  readonly #startMs: number
  #target: Target | undefined
  #user: string | undefined
  #status: number | undefined
  #isAnswered = false

  constructor(parts: ReportParts, visit: Visit) {
    this.#parts = parts
    this.#visit = visit
    this.#startMs = parts.clock.monotonicMs()
    this.#span = parts.tracing.request(String(visit.incoming.headers.traceparent ?? '') || undefined)
    parts.metrics.httpRequestsInFlight.inc()
  }

  /** The fields of the audit log. */
  get origin(): { readonly requestId?: string; readonly traceId?: string } {
    return originFields(this.#visit.id, this.#span.traceparent)
  }

  leadsTo(target: Target): void {
    this.#target = target
  }

  isOf(user: string | undefined): void {
    this.#user = user
  }

  /** The head of an answer is on its way. */
  answered(status: number): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    this.#status = status
    const { metrics, clock } = this.#parts
    metrics.httpRequestsInFlight.dec()
    const { method = '' } = this.#visit.incoming
    const labels = {
      method: knownMethods.has(method) && status !== 405 ? method : 'other',
      route: routeOf(this.#target),
      status: statusLabel(status),
    }
    metrics.httpRequestDuration.observe(labels, (clock.monotonicMs() - this.#startMs) / 1000)
  }

  refused(refused: Refused): void {
    this.answered(refused.answer.status)
    this.#parts.gatewayMetrics.refusals.inc({ reason: refused.reason })
    this.#end({ reason: refused.reason })
  }

  /** The gateway's own page. */
  served(status: number): void {
    this.answered(status)
    this.#end({}, 'info')
  }

  carried(ending: Ending): void {
    // A client that left has no answer.
    this.answered(this.#status ?? 499)
    this.#parts.gatewayMetrics.exchanges.inc({ kind: this.#visit.kind, ending })
    this.#end({ ending }, troubled.has(ending) ? 'info' : 'debug')
  }

  failed(error: unknown): void {
    this.answered(500)
    this.#parts.metrics.httpFaults.inc({ reason: 'defect' })
    this.#parts.log.error({ err: error, ...this.origin }, 'request failed')
    this.#end({}, 'info')
  }

  #end(more: object, level: 'info' | 'debug' = 'debug'): void {
    const { log } = this.#parts
    if (log.isLevelEnabled(level)) log[level]({ ...this.origin, ...this.#facts(), ...more }, 'request')
    if (!this.#span.isSilent) this.#endSpan()
  }

  #facts() {
    const { method } = this.#visit.incoming
    const ms = Math.round(this.#parts.clock.monotonicMs() - this.#startMs)
    const route = routeOf(this.#target)
    return { method, route, status: this.#status, ms, user: this.#user, app: appOf(this.#target) }
  }

  #endSpan(): void {
    const { method, route, status = 0, user, app } = this.#facts()
    this.#span.end({
      name: `${method} ${route}`,
      attributes: {
        ...{ 'http.request.method': method ?? '', 'http.route': route, 'http.response.status_code': status },
        'skylab.request_id': this.#visit.id,
        ...(user !== undefined && { 'skylab.user': user }),
        ...(app !== undefined && { 'skylab.app': app }),
      },
      ...(status >= 500 && { error: String(status) }),
    })
  }
}

/** An app may answer by any number, and each one would be series that are kept for ever. */
const statusLabel = (status: number): string => (status in STATUS_CODES || status === 499 ? String(status) : 'other')

function routeOf(target: Target | undefined): string {
  if (!target || target.kind === 'refused') return 'unknown'
  if (target.kind === 'app') return '/console/apps/:id'
  if (target.route === 'start' || target.route === 'enter') return `/console/${target.route}/:id`
  return target.route === 'entered' ? '/console/enter' : `/console/${target.route}`
}

function appOf(target: Target | undefined): string | undefined {
  return target && 'id' in target ? target.id : undefined
}
