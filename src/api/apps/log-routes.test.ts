import { EventEmitter } from 'node:events'
import type { Counter } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { appsApi, appsParts } from '../../../test/kit/api/apps-api.ts'
import { detailOf } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { Logs } from '../../appcontrol/logs.ts'
import { noPod, notMember } from '../../appcontrol/problems.ts'
import type { Identity } from '../../base/domain.ts'
import { ApiError, unavailable } from '../../base/errors.ts'
import { unauthorized } from '../../identity/provider.ts'
import { headOf } from '../request/head.ts'
import { createAppsApi } from './app.ts'

const pod = 'app-mlflow-7c9d5b6f4-x2x8k'
const path = `=/api/logs/pods/${pod}`

const group = { name: 'physics', id: 1 }
const reader: Identity = { username: 'ann', token: 'ann-token', scopes: ['exec:notebook'], groups: [group] }

/** A log that says one line, and ends. */
function says(line: string, asked: unknown[] = []): Logs {
  return {
    find: async (wish, { audience }) => {
      asked.push([wish, audience])
      return {
        app: 'mlflow',
        mayRead: () => true,
        open: async () => ({
          stream: async onData => onData(Buffer.from(line)),
          ...{ pause: () => {}, resume: () => {} },
        }),
      }
    },
  }
}

/** What a counter has counted, by its one label. */
async function counted(counter: Counter<string>): Promise<Readonly<Record<string, number>>> {
  const { values } = await counter.get()
  const some = values.filter(({ value }) => value > 0)
  return Object.fromEntries(some.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
}

describe('GET /api/logs/pods/{pod}', () => {
  it('sends the log as text, which no browser takes for a page', async () => {
    const response = await appsApi({ logs: says('<b>é</b>\n') })('GET', path, 'ann')
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await response.text()).toBe('<b>é</b>\n')
  })

  it('passes its query on, for users and administrators', async () => {
    const asked: unknown[] = []
    const call = appsApi({ logs: says('', asked) })
    await call('GET', path, 'ann')
    await call('GET', `${path}?follow=true&tailLines=0&container=main`, 'ann')
    await call('GET', `/admin/logs/pods/${pod}?follow=false&tailLines=1000000`, 'root')
    expect(asked).toEqual([
      [{ pod, follow: false }, 'user'],
      [{ pod, follow: true, tailLines: 0, container: 'main' }, 'user'],
      [{ pod, follow: false, tailLines: 1_000_000 }, 'admin'],
    ])
  })

  it('opens nothing for HEAD', async () => {
    const logs: Logs = {
      find: async () => ({
        app: 'a',
        mayRead: () => true,
        open: async () => {
          throw new Error('opened')
        },
      }),
    }
    expect((await appsApi({ logs })('HEAD', path, 'ann')).status).toBe(200)
  })

  it.each([
    ['?follow=1', 422, 'invalid'],
    ['?follow=', 422, 'invalid'],
    ['?tailLines=-1', 422, 'invalid'],
    ['?tailLines=1e3', 422, 'invalid'],
    ['?tailLines=1000001', 422, 'invalid'],
    ['?container=a%2Fb', 422, 'invalid'],
    ['?container=a&container=b', 422, 'invalid'],
    ['?previous=true', 422, 'unknown_key'],
    ['?__proto__=1', 422, 'unknown_key'],
    ['?follow=%ff', 400, 'malformed'],
  ])('refuses the query %s', async (query, status, type) => {
    const response = await appsApi({ logs: says('') })('GET', path + query, 'ann')
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })

  it.each(['A', '-a', 'a_b', 'a%2Fb', '..%2F', 'a'.repeat(254)])('refuses the name %s', async name => {
    const response = await appsApi({ logs: says('') })('GET', `=/api/logs/pods/${name}`, 'ann')
    expect([400, 422]).toContain(response.status)
  })

  it.each([
    [404, 'unknown_pod', noPod()],
    [403, 'forbidden', notMember('physics')],
    [409, 'conflict', new ApiError(409, { msg: 'ContainerCreating', type: 'conflict' })],
    [503, 'unavailable', unavailable('the log cannot be read now')],
  ])('answers %d %s, also where that is known when it is opened', async (status, type, error) => {
    const refuse = async () => {
      throw error
    }
    for (const logs of [{ find: refuse }, { find: async () => ({ app: 'a', mayRead: () => true, open: refuse }) }]) {
      const response = await appsApi({ logs })('GET', path, 'ann')
      expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
    }
  })

  it('sends no more logs at once than are permitted, and others after these', async () => {
    const ending = Promise.withResolvers<void>()
    let opened = Promise.withResolvers<void>()
    const endless: Logs = {
      find: async () => ({
        app: 'a',
        mayRead: () => true,
        open: async () => {
          opened.resolve()
          return { stream: () => ending.promise, pause: () => {}, resume: () => {} }
        },
      }),
    }
    const parts = appsParts({ logs: endless, config: { api: { limits: { maxLogsPerUser: 2, maxLogs: 3 } } } })
    const call = appsApi(parts)
    const open = async () => (await parts.appMetrics.logsOpen.get()).values[0]!.value
    const answers: Promise<Response>[] = []
    const ofRoot = [`/admin/logs/pods/${pod}`, 'root'] as const
    for (const [where, who] of [[path, 'ann'], [path, 'ann'], ofRoot] as const) {
      opened = Promise.withResolvers()
      answers.push(call('GET', where, who))
      await opened.promise
    }
    expect((await call('GET', path, 'ann')).status).toBe(429)
    expect((await call('GET', ...ofRoot)).status).toBe(503)
    expect([await open(), await counted(parts.metrics.requestsRefused)]).toEqual([3, { log: 2 }])
    ending.resolve()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await call('GET', path, 'ann')).status).toBe(200)
    expect([await open(), await counted(parts.appMetrics.logs)]).toEqual([0, { complete: 4 }])
  })

  it('counts what the cluster refuses apart from what fails', async () => {
    const errors = [new ApiError(409, { msg: 'ContainerCreating', type: 'conflict' }), unavailable('away')]
    const open = async () => {
      throw errors.shift()
    }
    const parts = appsParts({ logs: { find: async () => ({ app: 'a', mayRead: () => true, open }) } })
    for (const status of [409, 503]) expect((await appsApi(parts)('GET', path, 'ann')).status).toBe(status)
    expect(await counted(parts.appMetrics.logs)).toEqual({ refused: 1, failed: 1 })
  })

  it('lets the server cut who does not take the rest of a log that is over', async () => {
    const timeouts: number[] = []
    const ending = Promise.withResolvers<void>()
    const endless: Logs = {
      find: async () => ({
        ...{ app: 'a', mayRead: () => true },
        open: async () => ({ stream: () => ending.promise, pause: () => {}, resume: () => {} }),
      }),
    }
    const outgoing = Object.assign(new EventEmitter(), {
      socket: { setTimeout: (ms: number) => void timeouts.push(ms) },
    })
    const app = createAppsApi(appsParts({ logs: endless, config: { api: { limits: { writeTimeoutSeconds: 7 } } } }))
    const headers = { authorization: 'Bearer ann-token' }
    const answer = await app.request(`/api/logs/pods/${pod}`, { headers }, {
      head: headOf(`/api/logs/pods/${pod}`),
      outgoing,
    } as never)
    expect([answer.status, timeouts]).toEqual([200, [0]])
    ending.resolve()
    await answer.text()
    expect(timeouts).toEqual([0, 7_000])
  })

  it.each<[string, () => Promise<Identity>, boolean]>([
    ['ends when its reader is not known any more', () => Promise.reject(unauthorized()), true],
    ['ends when its reader has lost the scope', async () => ({ ...reader, scopes: [] }), true],
    ['ends when its reader has left the group', async () => ({ ...reader, groups: [] }), true],
    ['goes on while its reader is a member', async () => reader, false],
    ['goes on while the source of identities is silent', () => Promise.reject(unavailable('silent')), false],
  ])('%s', async (_, later, ends) => {
    const opened = Promise.withResolvers<AbortSignal>()
    const endless: Logs = {
      find: async () => ({
        ...{ app: 'a', mayRead: ({ groups }: Pick<Identity, 'groups'>) => groups.length > 0 },
        open: async signal => {
          opened.resolve(signal)
          return { stream: () => new Promise(() => {}), pause: () => {}, resume: () => {} }
        },
      }),
    }
    const clock = new ManualClock()
    let judged = 0
    let identify = async () => reader
    const parts = { ...appsParts({ logs: endless }), clock, identity: { identify: () => identify() } }
    const headers = { authorization: 'Bearer ann-token' }
    const head = headOf(`/api/logs/pods/${pod}`)
    const answer = await createAppsApi(parts).request(`/api/logs/pods/${pod}`, { headers }, { head } as never)
    const signal = await opened.promise
    identify = () => {
      judged += 1
      return later()
    }
    clock.advance(60_000)
    await new Promise(resolve => setImmediate(resolve))
    expect([judged, signal.aborted]).toEqual([1, ends])
    await answer.body?.cancel()
  })

  it('is 503 at a replica that ends, also where that begins while the log is opened', async () => {
    const draining = new AbortController()
    const slow: Logs = {
      find: async () => ({
        app: 'a',
        mayRead: () => true,
        open: signal => {
          draining.abort()
          return Promise.reject(signal.reason ?? new Error('open'))
        },
      }),
    }
    const call = appsApi({ logs: slow, draining: draining.signal })
    for (const _ of [1, 2]) expect((await call('GET', path, 'ann')).status).toBe(503)
  })

  it('is open to no one without the scope of its path, to no cookie and no page', async () => {
    const call = appsApi({ logs: says('') })
    expect((await call('GET', path)).status).toBe(401)
    for (const who of ['guest', 'root']) expect((await call('GET', path, who)).status).toBe(403)
    expect((await call('GET', `/admin/logs/pods/${pod}`, 'ann')).status).toBe(403)
    for (const headers of [{ cookie: 'a=b' }, { 'sec-fetch-site': 'same-origin' }])
      expect((await call('GET', path, 'ann', { headers: headers as never })).status).toBe(403)
    expect((await call('POST', path, 'ann')).status).toBe(405)
  })
})
