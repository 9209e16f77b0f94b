import { afterEach, describe, expect, it } from 'vitest'
import { apiParts, detailOf } from '../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMonitoring, type MonitoringParts, startMonitoringServer } from './monitoring.ts'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

function monitoring(
  waiting: readonly string[] = [],
  change: Partial<MonitoringParts> = {},
  troubles: readonly string[] = [],
) {
  const app = createMonitoring({
    ...apiParts(),
    readiness: { waitingFor: () => waiting, troubles: () => troubles },
    ...change,
  })
  return async (path: string, method = 'GET') => app.request(path, { method }, { head: { path } })
}

describe('the monitoring port', () => {
  it('reports that the process is alive, and ready when it waits for nothing', async () => {
    const waiting = ['Redis', 'the first compare']
    const call = monitoring(waiting)
    expect(await (await call('/healthz')).json()).toEqual({ status: 'ok' })
    const unready = await call('/readyz')
    expect([unready.status, unready.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await unready.json()).toEqual({
      detail: [
        { msg: 'waiting for Redis', type: 'not_ready' },
        { msg: 'waiting for the first compare', type: 'not_ready' },
      ],
    })
    waiting.length = 0
    const ready = await call('/readyz')
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }])
  })

  it('names failing dependencies although it is ready', async () => {
    const troubles = ['the registry: example.org: the host name is unknown (ENOTFOUND)']
    const ready = await monitoring([], {}, troubles)('/readyz')
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', troubles }])
  })

  it('serves the metrics, and counts its own requests', async () => {
    const call = monitoring()
    await call('/healthz')
    const response = await call('/metrics')
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(await response.text()).toContain('_count{method="GET",route="/healthz",status="200"} 1')
  })

  it.each(['/', '/metrics/x', '/nublado/spawner/v1/labs'])('answers 404 in the common form for %s', async path => {
    const response = await monitoring()(path)
    expect(response.status).toBe(404)
    await detailOf(response)
  })

  it.each(['/healthz', '/readyz', '/metrics'])('answers HEAD, and 405 for other methods of %s', async path => {
    const call = monitoring()
    expect((await call(path, 'HEAD')).status).toBe(200)
    const response = await call(path, 'POST')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('does not log the frequent requests of probes and scrapes', async () => {
    const lines: string[] = []
    const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void lines.push(line) } })
    const call = monitoring([], { log })
    for (const path of ['/healthz', '/metrics', '/nothing']) await call(path)
    expect(lines).toEqual([])
  })

  it('has the same limits as the API, and cannot start on a used port', async () => {
    const clock = new ManualClock()
    const readiness = { waitingFor: () => [], troubles: () => [] }
    const parts = apiParts({ clock }, { host: '127.0.0.1', monitoringPort: 0 })
    const server = await startMonitoringServer({ ...parts, readiness })
    cleanUps.push(async () => {
      const closed = server.close(1)
      clock.advance(1)
      await closed
    })
    expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${server.port}/${'x'.repeat(5000)}`)).status).toBe(414)
    const same = apiParts({}, { host: '127.0.0.1', monitoringPort: server.port })
    await expect(startMonitoringServer({ ...same, readiness })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})
