import { describe, expect, it } from 'vitest'
import {
  api,
  apiParts,
  detailOf,
  exampleLab,
  requestTo,
  ScriptedFeed,
  scriptedLabs,
} from '../../../test/kit/api/scripted-api.ts'
import { ApiError } from '../../base/errors.ts'
import type { LabService } from '../../ops/labs/service.ts'
import { createApi } from '../app.ts'
import { formatEvent } from '../sse/sse.ts'

const path = 'labs/rra/events'
const { events } = exampleLab()

describe('GET labs/<username>/events', () => {
  it('replays the events of a finished operation and closes', async () => {
    const response = await api({ events: async () => new ScriptedFeed().push(...events).end() })('GET', path, 'rra')
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    expect(await response.text()).toBe(`retry: 1000\n${events.map(formatEvent).join('')}`)
  })

  it('continues after Last-Event-ID', async () => {
    const asked: unknown[] = []
    const call = api({
      events: async (username, id) => {
        asked.push([username, id])
        return 'ended'
      },
    })
    const response = await call('GET', path, 'rra', { headers: { 'Last-Event-ID': '7-3' } })
    expect([response.status, await response.text()]).toEqual([204, ''])
    await call('GET', path, 'rra')
    expect(asked).toEqual([
      ['rra', '7-3'],
      ['rra', undefined],
    ])
  })

  it('answers 404 without a stream, and 400 for an invalid id', async () => {
    const missing = await api()('GET', path, 'rra')
    expect(missing.status).toBe(404)
    await detailOf(missing)
    const malformed = new ApiError(400, { msg: 'not an id', type: 'malformed', loc: ['header', 'last-event-id'] })
    const refused = await api({ events: () => Promise.reject(malformed) })('GET', path, 'rra')
    expect(refused.status).toBe(400)
    await detailOf(refused)
  })

  it('counts no failure when the client leaves before its stream is open', async () => {
    const client = new AbortController()
    const events: LabService['events'] = async (_user, _id, signal) => {
      client.abort(new Error('left'))
      throw signal?.reason
    }
    const response = await api({ events })('GET', path, 'rra', { signal: client.signal })
    expect(response.status).toBe(204)
  })

  it('opens no stream for HEAD', async () => {
    const { metrics } = apiParts()
    const response = await api({ events: async () => new ScriptedFeed() }, { metrics })('HEAD', path, 'rra')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect((await metrics.eventStreamsOpen.get()).values[0]?.value).toBe(0)
  })

  it('refuses a user with too many streams, counts open ones, and forgets ended ones', async () => {
    const feeds: ScriptedFeed[] = []
    const labs = scriptedLabs({
      events: async () => {
        const feed = new ScriptedFeed()
        feeds.push(feed)
        return feed
      },
    })
    const parts = apiParts({ labs }, { limits: { maxStreamsPerUser: 2 } })
    const app = createApi(parts)
    const open = (user: string) =>
      requestTo(app, `/nublado/spawner/v1/labs/${user}/events`, { headers: { Authorization: `Bearer ${user}-token` } })
    const openStreams = async () => (await parts.metrics.eventStreamsOpen.get()).values[0]?.value

    const [first] = [await open('rra'), await open('rra')]
    expect(await openStreams()).toBe(2)
    const refused = await open('rra')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    await detailOf(refused)
    expect((await open('both')).status).toBe(200)
    feeds[0]!.end()
    await first.text()
    expect(await openStreams()).toBe(2)
    expect((await open('rra')).status).toBe(200)
  })

  it('refuses all users beyond the total, and returns the slot of a refused user', async () => {
    const feeds: ScriptedFeed[] = []
    const labs = scriptedLabs({
      events: async () => {
        const feed = new ScriptedFeed()
        feeds.push(feed)
        return feed
      },
    })
    const app = createApi(apiParts({ labs }, { limits: { maxStreams: 1, maxStreamsPerUser: 1 } }))
    const open = (user: string) =>
      requestTo(app, `/nublado/spawner/v1/labs/${user}/events`, { headers: { Authorization: `Bearer ${user}-token` } })

    const first = await open('rra')
    const refused = await open('both')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    await detailOf(refused)
    feeds[0]!.end()
    await first.text()
    expect((await open('both')).status).toBe(200)
  })

  it('ends all streams when the replica drains, and sends later ones elsewhere', async () => {
    const drain = new AbortController()
    const feeds = [new ScriptedFeed().push(events[0]!), new ScriptedFeed()]
    const queue = [...feeds]
    const call = api({ events: async () => queue.shift()! }, { draining: drain.signal })
    const response = await call('GET', path, 'rra')
    const reader = response.body!.getReader()
    await reader.read()
    await reader.read()
    drain.abort()
    expect((await reader.read()).done).toBe(true)
    expect(feeds[0]!.signal?.aborted).toBe(true)
    expect(await (await call('GET', path, 'rra')).text()).toBe('retry: 1000\n')
    expect(feeds[1]!.signal).toBeUndefined()
  })
})
