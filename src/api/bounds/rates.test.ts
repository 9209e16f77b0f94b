import { expect, it } from 'vitest'
import { api, apiParts, callers, detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { Identity } from '../../base/domain.ts'
import type { LabService } from '../../ops/labs/service.ts'
import { Rates } from './rates.ts'

/** An API with some rates, and a clock that a test moves. */
function limited(rates: object = {}, script: Partial<LabService> = {}, identity?: (token: string) => Identity) {
  const clock = new ManualClock()
  const { metrics } = apiParts()
  const provider = identity && {
    identify: async (headers: Headers) => identity(headers.get('authorization') ?? ''),
  }
  const call = api(
    { delete: async () => true, ...script },
    { clock, metrics, ...(provider && { identity: provider }) },
    { rates },
  )
  const create = (key?: string, body: unknown = { options: {} }) => {
    const init = jsonBody(body)
    const length = { 'Content-Length': String(Buffer.byteLength(String(init.body))) }
    const headers = { ...(init.headers as object), ...length, ...(key !== undefined && { 'Idempotency-Key': key }) }
    return call('POST', 'labs/rra/create', 'rra', { ...init, headers })
  }
  const refused = async (kind: string) => {
    const { values } = await metrics.requestsRefused.get()
    return values.find(({ labels }) => labels.kind === kind)?.value
  }
  return { call, create, clock, refused }
}

/** The number of these requests that are not 429, and the last answer. */
async function passed(count: number, send: () => Promise<Response>) {
  let passed = 0
  let last: Response | undefined
  for (let n = 0; n < count; n++) {
    last = await send()
    if (last.status !== 429) passed += 1
  }
  return { passed, last: last! }
}

it('Rates by default permit 20 creates at once and 100 reads per user', async () => {
  const { call, create } = limited()
  expect((await passed(25, create)).passed).toBe(20)
  // Each create was a read too.
  expect((await passed(105, () => call('GET', 'user-status', 'rra'))).passed).toBe(75)
})

it('Rates by default permit 2400 changes at once per administrator', () => {
  const { config, clock, metrics } = apiParts()
  const rates = new Rates({ rates: config.api.rates, clock, metrics })
  const change = () => rates.take('change', callers[1]!)
  for (let n = 0; n < 2400; n++) change()
  expect(change).toThrow('too many changes')
})

it('Rates answer 429 to a create beyond the rate, with the exact time to wait', async () => {
  const { create, clock, refused } = limited()
  const { last } = await passed(21, create)
  expect([last.status, last.headers.get('retry-after')]).toEqual([429, '6'])
  expect(await detailOf(last)).toEqual({ msg: 'too many creates in a short time', type: 'too_often' })
  clock.advance(5000)
  expect([(await create()).status, (await create()).headers.get('retry-after')]).toEqual([429, '1'])
  clock.advance(1000)
  expect([(await create()).status, (await create()).status]).toEqual([303, 429])
  expect(await refused('create')).toBe(4)
})

it('Rates permit reads again within a second, changes after one', async () => {
  const { call, clock } = limited({ readsPerSecond: 2, changesPerMinute: 3, privilegedFactor: 1 })
  expect((await passed(5, () => call('GET', 'user-status', 'rra'))).passed).toBe(4)
  expect((await passed(7, () => call('DELETE', 'labs/rra', 'hub'))).passed).toBe(6)
  expect((await call('DELETE', 'labs/rra', 'hub')).headers.get('retry-after')).toBe('20')
  clock.advance(500)
  expect((await call('GET', 'user-status', 'rra')).status).toBe(404)
})

it('Rates charge a refused body, since it was read', async () => {
  const { create } = limited({ createsPerMinute: 1 })
  const { passed: count, last } = await passed(3, () => create(undefined, '{'))
  expect([count, last.status]).toEqual([2, 429])
})

it('Rates do not charge a repeat under the same Idempotency-Key, even without a token', async () => {
  const { create } = limited(
    { createsPerMinute: 1 },
    {
      create: async (_, __, ___, key) => (key === 'known' ? 'repeated' : undefined),
      remembers: async (_, key) => key === 'known',
    },
  )
  expect((await passed(10, () => create('known'))).passed).toBe(10)
  expect((await passed(3, create)).passed).toBe(2)
  expect((await passed(10, () => create('known'))).passed).toBe(10)
  expect((await create('unknown')).status).toBe(429)
})

it('Rates limit look-ups of keys like reads', async () => {
  let asked = 0
  const { create } = limited({ createsPerMinute: 1, readsPerSecond: 5 }, { remembers: async () => ++asked < 0 })
  await passed(100, () => create('made up'))
  expect(asked).toBe(8)
})

it('Rates permit configured callers as much as administrators', async () => {
  const { create } = limited({ createsPerMinute: 1, privilegedFactor: 5, privilegedUsers: ['rra'] })
  expect((await passed(15, create)).passed).toBe(10)
})

it('Rates ignore a scope that is vouched for on other routes only', async () => {
  const { call } = limited({ readsPerSecond: 1, privilegedFactor: 3 }, {}, token => {
    return { ...callers[3]!, scopes: token.includes('admin') ? ['admin:jupyterlab'] : ['exec:notebook'] }
  })
  expect((await passed(9, () => call('GET', 'labs', 'admin'))).passed).toBe(6)
  expect((await passed(9, () => call('GET', 'user-status', 'user'))).passed).toBe(2)
})

it('readJson answers 429 to a second concurrent body of a user, and reads another user’s', async () => {
  const { call, create, refused } = limited()
  const slow = new TransformStream<Uint8Array, Uint8Array>()
  const type = { 'Content-Type': 'application/json' }
  const init = { body: slow.readable, headers: type, duplex: 'half' } as RequestInit
  const first = call('POST', 'labs/rra/create', 'rra', init)
  const writer = slow.writable.getWriter()
  await writer.write(new TextEncoder().encode('{"options"'))
  const second = await create()
  expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await detailOf(second)).toMatchObject({ msg: 'too many bodies at once', type: 'too_many' })
  expect(await refused('body')).toBe(1)
  expect((await call('POST', 'labs/both/create', 'both', jsonBody({ options: {} }))).status).toBe(303)
  await writer.write(new TextEncoder().encode(': {}}'))
  await writer.close()
  expect((await first).status).toBe(303)
  expect((await create()).status).toBe(303)
})

it('Rates charge large bodies of repeats as reads by their size when no token is left', async () => {
  const { create, clock } = limited(
    { createsPerMinute: 1 },
    { create: async () => 'repeated' as const, remembers: async () => true },
  )
  const large = () => create('known', { options: {}, env: { A: 'x'.repeat(31_000), B: 'y'.repeat(31_000) } })
  // One read for the request, seven for 61 KiB; a full bucket has 100.
  expect((await passed(20, large)).passed).toBe(12)
  clock.advance(1000)
  expect((await passed(10, large)).passed).toBe(6)
})

it('Rates charge requests that are refused for their user or scope as reads', async () => {
  const { call } = limited({ readsPerSecond: 2 })
  const statuses = []
  for (const path of ['labs/other/events', 'labs/other', 'labs', 'labs/other/events', 'labs']) {
    statuses.push((await call('GET', path, 'rra')).status)
  }
  expect(statuses).toEqual([403, 403, 403, 403, 429])
})

it('Rates have one limit for all clients of documents without a token', async () => {
  const { call, clock, refused } = limited({ documentsPerSecond: 2 })
  const paths = ['openapi.json', 'docs', 'docs/page.js', 'docs/swagger-ui-bundle.js', 'openapi.json']
  const statuses = []
  for (const path of paths) statuses.push((await call('GET', path)).status)
  expect([statuses, await refused('document')]).toEqual([[200, 200, 200, 200, 429], 1])
  clock.advance(500)
  expect((await call('GET', 'docs')).status).toBe(200)
})
