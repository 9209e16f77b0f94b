/** Health, readiness and metrics of a replica, on a port that no Service exposes: without a token. */
import { Hono } from 'hono'
import { ApiError } from '../base/errors.ts'
import { noTracing } from '../telemetry/tracing.ts'
import { boundServer } from './connections/http-server.ts'
import type { ApiEnv, ApiParts } from './request/env.ts'
import { methodNotAllowed, notFound, onError } from './request/errors.ts'
import { checkedPath, refuseBadHead } from './request/head.ts'
import { requestLog } from './request/request-log.ts'
import { requestOrigin } from './request/request-origin.ts'

/** Whether this replica should get requests. */
export interface Readiness {
  /** Reasons for waiting, for operators; empty when ready. */
  waitingFor(): readonly string[]
  /** Failing dependencies of a ready replica, for operators: no other replica would do better. */
  troubles(): readonly string[]
}

export interface MonitoringParts extends Pick<ApiParts, 'metrics' | 'clock' | 'log'> {
  readonly config: { readonly api: ApiParts['config']['api'] }
  readonly readiness: Readiness
}

export interface MonitoringServer {
  /** The actual port, if 0 was requested. */
  readonly port: number
  /** @param graceMs time after which remaining connections are cut */
  close(graceMs: number): Promise<void>
}

/**
 * Listens on `config.api.host` and `.monitoringPort`, with the limits of the API. Rejects if the port is not available.
 */
export async function startMonitoringServer(parts: MonitoringParts): Promise<MonitoringServer> {
  const { host, monitoringPort, limits } = parts.config.api
  const app = createMonitoring(parts)
  const server = boundServer(limits, parts.clock, (request, env) => app.fetch(request, env))
  return { port: await server.listen(host, monitoringPort), close: graceMs => server.close(graceMs) }
}

/** `/healthz`, `/readyz` and `/metrics`, as a value. */
export function createMonitoring(parts: MonitoringParts): Hono<ApiEnv> {
  const { readiness, metrics } = parts
  const app = new Hono<ApiEnv>({ getPath: checkedPath })
  app.onError(onError)
  app.notFound(notFound)
  // Probes and scrapes come every few seconds: a line or a trace for each would drown the others.
  app.use(requestOrigin({ ...parts, tracing: noTracing }))
  app.use(requestLog(parts, 'debug'))
  app.use(refuseBadHead)
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', c => {
    const waiting = readiness.waitingFor()
    if (waiting.length > 0) throw notReady(waiting)
    const troubles = readiness.troubles()
    return c.json({ status: 'ready', ...(troubles.length > 0 && { troubles }) })
  })
  app.get('/metrics', async c => {
    return c.text(await metrics.registry.metrics(), 200, { 'Content-Type': metrics.registry.contentType })
  })
  for (const path of ['/healthz', '/readyz', '/metrics']) app.all(path, methodNotAllowed(['GET', 'HEAD']))
  return app
}

function notReady(waiting: readonly string[]): ApiError {
  const detail = waiting.map(what => ({ msg: `waiting for ${what}`, type: 'not_ready' }))
  return new ApiError(503, detail, { 'Retry-After': '1' })
}
