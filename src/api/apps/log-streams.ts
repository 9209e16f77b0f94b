/** Sends logs of pods, or of containers, as they come: how many, how much, how long, and what becomes of a reader that takes nothing. */
import type { Context } from 'hono'
import { ApiError, unavailable } from '../../base/errors.ts'
import type { AppApiMetrics } from '../../telemetry/app-api-metrics.ts'
import { enterBoth, PerUserLimit, TotalLimit } from '../bounds/held.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { type JudgedLog, LogPump } from './log-pump.ts'

const headers = {
  'Content-Type': 'text/plain; charset=utf-8',
  'Cache-Control': 'no-cache',
  // Asks balancers not to hold lines back.
  'X-Accel-Buffering': 'no',
  // What an app writes is no page.
  'X-Content-Type-Options': 'nosniff',
}
export const logHeaders = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Content-Type'))

/** The answer waits for the log so long; then it begins, and the log follows when the container says something. */
const openingMs = 2_000

interface LogStreamParts extends Pick<CommonParts, 'config' | 'clock' | 'draining' | 'metrics'> {
  readonly appMetrics: Pick<AppApiMetrics, 'logs' | 'logsOpen'>
}

export class LogStreams {
  readonly #parts: LogStreamParts
  readonly #perUser: PerUserLimit
  readonly #total: TotalLimit

  constructor(parts: LogStreamParts) {
    this.#parts = parts
    const { maxLogs, maxLogsPerUser } = parts.config.api.limits
    const onRefusal = () => parts.metrics.requestsRefused.inc({ kind: 'log' })
    this.#perUser = new PerUserLimit(maxLogsPerUser, 'logs', onRefusal)
    this.#total = new TotalLimit(maxLogs, 'logs', onRefusal)
  }

  /** @throws {ApiError} when the log cannot be opened, 429, 503 */
  async answer(c: Context<ApiEnv>, log: JudgedLog): Promise<Response> {
    if (c.req.method === 'HEAD') return c.body(null, 200, headers)
    if (this.#parts.draining?.aborted) throw ending()
    const leave = enterBoth(this.#perUser, this.#total, c.get('caller').username)
    this.#parts.appMetrics.logsOpen.inc()
    const pump = this.#pump(c, log, leave)
    await Promise.race([pump.opened, this.#parts.clock.sleep(openingMs, pump.over)]).catch(error => {
      pump.stop()
      // The replica may have begun to end meanwhile.
      throw this.#parts.draining?.aborted ? ending() : error
    })
    // A log can be silent for longer than other answers may. One that is over is silent for ever.
    if (!pump.over.aborted) c.env?.outgoing?.socket?.setTimeout(0)
    return c.body(pump.readable, 200, headers)
  }

  #pump(c: Context<ApiEnv>, log: JudgedLog, leave: () => void): LogPump {
    const { config, clock, draining, appMetrics } = this.#parts
    const { maxLogBytes, maxLogSeconds, writeTimeoutSeconds } = config.api.limits
    const outgoing = c.env?.outgoing
    return new LogPump(log, {
      ...{
        clock,
        draining,
        maxBytes: maxLogBytes,
        maxMs: maxLogSeconds * 1000,
        patienceMs: writeTimeoutSeconds * 1000,
      },
      sever: outgoing && (() => outgoing.destroy()),
      onEnd: (end, err) => {
        leave()
        appMetrics.logsOpen.dec()
        appMetrics.logs.inc({ ending: isRefusal(err) ? 'refused' : end })
        // From here on nobody looks whether the rest is read: as for any other answer the server cuts who takes nothing.
        outgoing?.socket?.setTimeout(writeTimeoutSeconds * 1000)
        c.get('log').debug({ app: log.app, end, err }, 'log ended')
      },
    })
  }
}

/** Such as a container that has no log yet. */
const isRefusal = (error: unknown) => error instanceof ApiError && error.status < 500

const ending = () => unavailable('this replica ends: another one has the log')
