/** The front before moto: EC2's semantics, and what goes wrong as a test wants it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { AtQuota, CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../../src/clouds/errors.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import { driverOf, intentOf, type OwnCloud, ownCloud, someCall, startLimitMs } from '../../test/kit/cloud/cloud.ts'
import type { Call } from './call.ts'
import { Faults } from './faults.ts'

let cloud: OwnCloud
let sets = 0
const clock = new ManualClock({ runs: true })
let before: ((call: Call) => void | Promise<void>) | undefined

beforeAll(async () => {
  cloud = await ownCloud({ clock, before: call => before?.(call) })
}, startLimitMs)
afterAll(() => cloud?.close())
afterEach(() => {
  cloud.faults.clear()
  Object.assign(cloud.faults, { limits: {}, rate: undefined, lagMs: 0, findLagMs: 0, honoursTokens: true })
  before = undefined
})

/** An installation of its own. */
function site() {
  const set = `set-${++sets}`
  const driver = driverOf(cloud, set)
  const intent = (token: string, over = {}) =>
    intentOf({ token: `${set}-${token}`, tags: { InstanceSetID: set }, ...over })
  const create = (token: string, over = {}) => driver.create(intent(token, over), [], someCall)
  const live = async () => (await driver.list(someCall)).filter(({ state }) => state !== 'gone').map(({ id }) => id)
  return { set, driver, create, live, ofUs: (action: string) => cloud.journal.of(action).slice(-1)[0] }
}

test('the same token gives the same machine, another image a mismatch, and after its end nothing', async () => {
  const { create, driver } = site()
  const { id } = await create('a')
  expect((await create('a')).id).toBe(id)
  // The driver finds the machine of the token.
  expect((await create('a', { image: 'ami-87654321' })).id).toBe(id)
  await driver.destroy(id, someCall)
  await expect(create('a')).rejects.toBeInstanceOf(IntentOver)
})

test('a cloud that honours no tokens makes two machines of one', async () => {
  cloud.faults.honoursTokens = false
  const { create, live } = site()
  await Promise.all([create('a'), create('a')])
  expect(await live()).toHaveLength(2)
})

test('a lost answer leaves a machine, which the same token finds', async () => {
  cloud.faults.add({ action: 'RunInstances', effect: { cut: 'after' } })
  const { create, live, ofUs } = site()
  await expect(create('a')).rejects.toBeInstanceOf(Unanswered)
  expect(ofUs('RunInstances')).toMatchObject({ outcome: 'cut', carriedOut: true })
  const [left] = await live()
  expect((await create('a')).id).toBe(left)
})

test('a lost request leaves nothing', async () => {
  cloud.faults.add({ action: 'RunInstances', effect: { cut: 'before' } })
  const { create, live, ofUs } = site()
  await expect(create('a')).rejects.toBeInstanceOf(Unanswered)
  expect(ofUs('RunInstances')).toMatchObject({ outcome: 'cut', carriedOut: false })
  expect(await live()).toEqual([])
})

test('a late creation comes after its connection was cut, and the same token waits for it', async () => {
  cloud.faults.add({ action: 'RunInstances', effect: { lateMs: 1 } })
  const { create, live } = site()
  const turn = Promise.withResolvers<void>()
  before = () => turn.promise
  await expect(create('a')).rejects.toBeInstanceOf(Unanswered)
  expect(await live()).toEqual([])
  const again = create('a')
  turn.resolve()
  const { id } = await again
  expect(await live()).toEqual([id])
})

test('quotas and capacities refuse what is above them, also when all ask at once', async () => {
  const { create, driver, live } = site()
  cloud.faults.limits = { quota: { c7: 2 }, capacity: { 'x1.large': 0 } }
  const made = await Promise.allSettled(['a', 'b', 'c'].map(token => create(token, { providerType: 'c7.large' })))
  const refused = made.filter(each => each.status === 'rejected')
  expect(refused).toHaveLength(1)
  expect(refused[0]?.reason).toBeInstanceOf(AtQuota)
  expect(refused[0]?.reason).toMatchObject({ group: 'standard' })
  await expect(create('d', { providerType: 'x1.large' })).rejects.toBeInstanceOf(NoCapacity)
  await driver.destroy((await live())[0]!, someCall)
  await create('e', { providerType: 'c7.large' })
})

test('a full subnet sends a creation to the next one', async () => {
  cloud.faults.limits = { fullSubnets: [cloud.subnets[0]!] }
  const { create, ofUs } = site()
  await create('a')
  expect(ofUs('RunInstances')).toMatchObject({ subnet: cloud.subnets[1], outcome: 'ok' })
})

test('a bucket lets a number of calls through at once, and no more', async () => {
  const { driver } = site()
  cloud.faults.rate = { perSecond: 0.001, burst: 3, actions: ['DescribeInstances'] }
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => driver.list(someCall)))
  const refused = outcomes.filter(each => each.status === 'rejected')
  expect(refused).toHaveLength(1)
  expect(refused[0]?.reason).toBeInstanceOf(RateLimited)
})

test('listings lack a new machine for a while, and show an ended one as running', async () => {
  const { create, driver, live } = site()
  cloud.faults.lagMs = 60_000
  const { id } = await create('a')
  expect(await live()).toEqual([])
  // A look by id does not lag, unless the test wants it.
  expect(await driver.find(id, someCall)).toMatchObject({ id })
  clock.advance(60_000)
  expect(await live()).toEqual([id])
  await driver.destroy(id, someCall)
  expect(await live()).toEqual([id])
  expect(await driver.find(id, someCall)).toMatchObject({ state: 'gone' })
  clock.advance(60_000)
  expect(await live()).toEqual([])
})

test('destroy may get a yes for nothing', async () => {
  const { create, driver, live, ofUs } = site()
  const { id } = await create('a')
  cloud.faults.add({ action: 'TerminateInstances', times: 2, effect: { lie: true } })
  for (const left of [1, 1, 0]) {
    await driver.destroy(id, someCall)
    expect(await live()).toHaveLength(left)
  }
  expect(ofUs('TerminateInstances')).toMatchObject({ outcome: 'ok', ids: [id], carriedOut: true })
})

test('a machine whose tag was removed by hand is ours no more', async () => {
  const { create, driver, live } = site()
  const { id } = await create('a')
  await cloud.somebody.removesTags(id, 'InstanceSetID')
  expect(await live()).toEqual([])
  await expect(driver.destroy(id, someCall)).rejects.toBeInstanceOf(CloudRefused)
  expect(await driver.missing?.(id, someCall)).toBe(false)
  expect(await cloud.somebody.sees(id)).toMatchObject({ state: 'running' })
})

test('a scripted error comes as often as it should, to whom it should', async () => {
  const { create } = site()
  const match = { InstanceType: 'm6.large' }
  cloud.faults.add({ action: 'RunInstances', match, effect: { error: 'RequestLimitExceeded', status: 503 } })
  await create('a')
  await expect(create('b', { providerType: 'm6.large' })).rejects.toBeInstanceOf(RateLimited)
  // The driver that was refused asks for nothing more for a while.
  await site().create('b', { providerType: 'm6.large' })
})

test('the hook is called before a machine is made or ended', async () => {
  const { create, driver, live } = site()
  const seen: string[] = []
  before = async ({ action, ids, token }) => {
    seen.push(`${action} ${ids.length} ${token === undefined ? '' : 'token'} ${(await live()).length}`)
  }
  const { id } = await create('a')
  await driver.destroy(id, someCall)
  expect(seen).toEqual(['RunInstances 0 token 0', 'TerminateInstances 1  1'])
})

test('the journal has time, action, agent and outcome of each call, also by HTTP', async () => {
  const { create } = site()
  const { id } = await create('a')
  const journal = await (await fetch(`${cloud.endpoint}/_cloud/journal`)).json()
  expect((journal as unknown[]).at(-1)).toMatchObject({
    ...{ action: 'RunInstances', ids: [id], outcome: 'ok', carriedOut: true, type: 'm5.large' },
    agent: expect.stringContaining('replica-1/1/1'),
  })
})

test('other processes script faults and limits by HTTP', async () => {
  const { create } = site()
  const send = (method: string, path: string, body: unknown) =>
    fetch(`${cloud.endpoint}/_cloud/${path}`, { method, body: JSON.stringify(body) })
  await send('POST', 'rules', [{ action: 'RunInstances', effect: { error: 'InternalError', status: 500 } }])
  await send('PATCH', 'settings', { limits: { capacity: { 'm5.large': 0 } } })
  await expect(create('a')).rejects.toBeInstanceOf(Unanswered)
  await expect(create('a')).rejects.toBeInstanceOf(NoCapacity)
  expect((await fetch(`${cloud.endpoint}/_cloud/nothing`)).status).toBe(404)
})

test('faults by chance are the same for the same seed, and as many as wanted', () => {
  const call = { action: 'RunInstances', parameters: new Map() } as unknown as Call
  const drawn = (seed: number) => {
    const faults = new Faults(seed)
    faults.addRandom(0.1, ['RunInstances'], [{ cut: 'after' }, { error: 'InternalError', status: 500 }])
    return Array.from({ length: 4_000 }, () => JSON.stringify(faults.take(call) ?? null))
  }
  const draws = drawn(7)
  expect(drawn(7)).toEqual(draws)
  expect(drawn(8)).not.toEqual(draws)
  const counts = Map.groupBy(draws, each => each)
  for (const effect of ['{"cut":"after"}', '{"error":"InternalError","status":500}'])
    expect(Math.abs((counts.get(effect)?.length ?? 0) - 200)).toBeLessThan(60)
})

test('a silent connection is no answer, and ends with the cloud', async () => {
  cloud.faults.add({ action: 'DescribeInstances', effect: { silent: 'before' } })
  const stop = new AbortController()
  const { driver } = site()
  const listing = driver.list({ ...someCall, signal: stop.signal })
  await expect.poll(() => cloud.journal.of('DescribeInstances').at(-1)?.outcome).toBe('silent')
  const reason = new Error('enough')
  stop.abort(reason)
  await expect(listing).rejects.toBe(reason)
})
