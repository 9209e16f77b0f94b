import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { type DispatchScript, dispatchApi } from '../../../test/kit/api/dispatch-api.ts'
import { detailOf } from '../../../test/kit/api/scripted-api.ts'
import { hasEnded, noContainer, notRunning } from '../../containers/problems.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { unreached } from '../../tunnel/problems.ts'
import { mayUpgrade } from './tunnel-handlers.ts'
import { containerExample } from './words.ts'

const { uuid } = containerExample
const port = `/containers/${uuid}/ports/80/a`
const reach = async () => ({ run: 1, address: '127.0.0.1:1', pin: '' })
const open: DispatchScript = { containers: { reach }, shellAccess: { User: true } }
const failing = (error: Error): DispatchScript => ({
  ...open,
  containers: { reach: async () => Promise.reject(error) },
})

describe('a port of a container', () => {
  it.each([
    [403, 'shell_off', port, { containers: { reach } }, 'ann'],
    [401, 'unauthorized', port, open, 'nobody'],
    [403, 'scope_missing', port, open, 'guest'],
    [404, 'unknown_container', port, failing(noContainer()), 'ann'],
    [410, 'container_ended', port, failing(hasEnded()), 'ann'],
    [503, 'not_running', port, failing(notRunning('the container does not run yet')), 'ann'],
    [422, 'invalid', '/containers/zzzzz-dz642-1/ports/80/a', open, 'ann'],
    ...['0', '65536', '080', 'http', '%38%30%30%30%30%30'].map(
      text => [422, 'invalid', `/containers/${uuid}/ports/${text}/a`, open, 'ann'] as const,
    ),
    [
      ...([502, 'unreachable', port] as const),
      { ...open, carrier: { request: async () => Promise.reject(unreached(undefined)) } },
      'ann',
    ],
  ] as const)('is answered %d %s for %s', async (status, type, path, script, who) => {
    for (const method of ['GET', 'POST', 'PUT']) {
      const answer = await dispatchApi(script)(method, path, who)
      expect([answer.status, (await detailOf(answer)).type]).toEqual([status, type])
    }
  })

  it('is no fault of ours when the program there does not answer', async () => {
    const metrics = createMetrics(new Registry())
    const script = { ...open, metrics, carrier: { request: async () => Promise.reject(unreached(undefined)) } }
    expect((await dispatchApi(script)('GET', port, 'ann')).status).toBe(502)
    expect((await metrics.httpFaults.get()).values).toEqual([])
  })

  it('keeps no turn of its user while the program there is silent, and beyond the bound of tunnels is 429', async () => {
    const silent = Promise.withResolvers<void>()
    const call = dispatchApi({
      ...{ ...open, carrier: { request: () => silent.promise } },
      config: { api: { limits: { maxTurnsPerUser: 1 } } },
    })
    const waiting = call('GET', port, 'ann')
    expect((await call('GET', '/containers', 'ann')).status).toBe(200)
    const more = await call('GET', port, 'ann')
    expect([more.status, more.headers.get('retry-after'), (await detailOf(more)).type]).toEqual([429, '1', 'too_many'])
    silent.reject(unreached(undefined))
    expect((await waiting).status).toBe(502)
  })

  it('is refused with a cookie, and by a page', async () => {
    for (const headers of [{ Cookie: 'a=b' }, { Origin: 'https://elsewhere.example.org' }]) {
      const answer = await dispatchApi(open)('GET', port, 'ann', { headers })
      expect([answer.status, (await detailOf(answer)).type]).toEqual([403, 'forbidden'])
    }
  })

  it('is open to administrators by default', async () => {
    const answer = await dispatchApi(failing(hasEnded()))('GET', `/admin${port}`, 'root')
    expect(answer.status).toBe(410)
  })
})

describe('a shell', () => {
  it('needs a request for SSH', async () => {
    const answer = await dispatchApi(open)('POST', `/containers/${uuid}/shell`, 'ann')
    expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'ssh'])
  })

  it('is asked for by POST alone', async () => {
    const answer = await dispatchApi(open)('GET', `/containers/${uuid}/shell`, 'ann')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

it.each([
  [true, 'ssh', `/dispatch/v1/containers/${uuid}/shell`],
  [true, 'SSH', `/dispatch/admin/v1/containers/${uuid}/shell`],
  [true, 'websocket', `/dispatch/v1/containers/${uuid}/ports/1/a?b`],
  [false, 'websocket', `/dispatch/v1/containers/${uuid}/shell`],
  [false, 'ssh', `/dispatch/v1/containers/${uuid}/ports/1/`],
  [false, 'ssh', `/dispatch/v1/containers/${uuid}/shell/more`],
  [false, 'h2c', `/dispatch/v1/containers/${uuid}/ports/1/`],
  [false, 'websocket', '/dispatch/v1/containers'],
  [false, undefined, `/dispatch/v1/containers/${uuid}/shell`],
] as const)('mayUpgrade is %s for %s at %s', (may, upgrade, url) => {
  expect(mayUpgrade({ url, headers: upgrade === undefined ? {} : { upgrade } })).toBe(may)
})
