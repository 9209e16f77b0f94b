/** What an identity source says of logins by now: asked by two gateways on one real Redis, with the rights of gateways. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RetryLater, unavailable } from '../../../src/base/errors.ts'
import { Keeper, type Kept } from '../../../src/gateway/login/keeper.ts'
import { type RecheckResult, Rechecks } from '../../../src/gateway/login/rechecks.ts'
import type { NewWord, WordSource } from '../../../src/gateway/login/word-source.ts'
import { hashOf } from '../../../src/store/apps/ids.ts'
import { LoginStore } from '../../../src/store/apps/logins.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RecheckStore } from '../../../src/store/apps/rechecks.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { Sealer } from '../../../src/store/sealing.ts'
import { TestGateway, type TestGatewayOptions, type TestOpen } from '../../kit/apps/gateway-access.ts'
import { addGatewayUser } from '../../kit/apps/gateway-user.ts'
import { route } from '../../kit/apps/routes.ts'
import { ManualClock } from '../../kit/clock.ts'
import { silentLog } from '../../kit/log.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const everyMs = 60_000
const keeper = new Keeper(new Sealer([Buffer.alloc(32, 7)]))

/** A source whose tokens rotate, and end with the login once one of them is used twice. */
class RotatingSource implements WordSource {
  groups = ['physics']
  isAway = false
  isOver = false
  /** Awaited before each answer. */
  before = async () => {}
  readonly used: string[] = []
  #valid = 'token-0'

  async again({ token }: Kept): Promise<NewWord | 'ended'> {
    if (this.isAway) throw unavailable('away')
    this.used.push(token)
    if (this.isOver || token !== this.#valid) return 'ended'
    const next = `token-${this.used.length}`
    this.#valid = next
    await this.before()
    return { groups: this.groups, kept: { token: next } }
  }
}

let source: RotatingSource
let clocks: ManualClock[]
let gateways: TestGateway[]
let words: Rechecks[]
let results: RecheckResult[]
let login: string
let hash: string

beforeEach(async () => {
  const { connection, keys, prefix } = store()
  const routes = new RouteStore(connection, keys)
  await routes.put(route())
  await routes.put(route({ id: 'lab', uid: 'u2', group: 'chemistry' }))
  await routes.complete()
  await new MemberStore(connection, keys).complete()
  ;[source, clocks, gateways, words, results] = [new RotatingSource(), [], [], [], []]
  const url = await addGatewayUser(store())
  for (let i = 0; i < 2; i++) {
    const clock = new ManualClock({ runs: true })
    clocks.push(clock)
    gateways.push(await TestGateway.open({ url, keyPrefix: prefix, clock, words: parts => rechecks(parts) }))
  }
  const logins = new LoginStore(gateways[0]!.connection, keys)
  const begun = await logins.begin()
  const seal = (of: string) => keeper.seal({ token: 'token-0' }, of)
  const made = await logins.create({ user: 'ada', groups: ['physics'], begun, lifeMs: 43_200_000, seal })
  if (made === 'revoked') throw new Error('revoked')
  login = made.id
  hash = hashOf(login)!
})

afterEach(() => Promise.all(gateways.map(gateway => gateway.close())))

type Parts = Parameters<NonNullable<TestGatewayOptions['words']>>[0]

function rechecks({ connection, keys, clock }: Parts, from = new RecheckStore(connection, keys)): Rechecks {
  const made = new Rechecks({
    ...{ store: from, logins: new LoginStore(connection, keys), keeper, source, clock },
    ...{ log: silentLog, everyMs, answerMs: 2_000, maxInFlight: 16, onWord: is => void results.push(is) },
  })
  words.push(made)
  return made
}

/** Time passes, also for Redis, while gateways look at their tables and at what is open. */
async function pass(ms: number, ...open: readonly TestOpen[]): Promise<void> {
  // More at once would be an outage of Redis.
  for (let left = ms; left > 0; left -= stepMs) await step(Math.min(left, stepMs), open)
  if (ms < 0) await step(ms, open)
}

const stepMs = 30_000

async function step(ms: number, open: readonly TestOpen[]): Promise<void> {
  const { redis, keys } = store()
  const key = keys.apps.login(hash)
  const [created, checked] = await redis.hmget(key, 'createdMs', 'checkedMs')
  if (created) await redis.hset(key, 'createdMs', Number(created) - ms)
  if (checked) await redis.hset(key, 'checkedMs', Number(checked) - ms)
  for (const clock of clocks) clock.advance(ms)
  await Promise.all(gateways.flatMap(({ parts }) => [parts.routes.look(), parts.members.look()]))
  await Promise.all(open.map(({ guard }) => guard.look()))
}

const is = async (appId = 'mlflow', gateway = 0) => (await gateways[gateway]!.verdict(appId, [login])).is

test('nobody is asked while the last word is young, and one gateway is for both afterwards', async () => {
  expect(await Promise.all([is(), is(), is('mlflow', 1)])).toEqual(['in', 'in', 'in'])
  expect(source.used).toEqual([])
  await pass(everyMs + 1)
  expect(await Promise.all(Array.from({ length: 40 }, (_, i) => is('mlflow', i % 2)))).toEqual(Array(40).fill('in'))
  expect(source.used).toEqual(['token-0'])
  await Promise.all(Array.from({ length: 1000 }, (_, i) => is('mlflow', i % 2)))
  expect(source.used).toHaveLength(1)
})

test('no token is lost, and none is used twice, while two gateways ask in turns and at once', async () => {
  for (let round = 0; round < 10; round++) {
    await pass(everyMs + 1)
    const all = await Promise.all(Array.from({ length: 8 }, (_, i) => is('mlflow', (i + round) % 2)))
    expect(new Set(all)).toEqual(new Set(['in']))
  }
  expect(new Set(source.used).size).toBe(source.used.length)
  expect(source.used).toHaveLength(10)
})

test('a login that is used is asked about before its word is too old, beside its requests', async () => {
  await is()
  await pass(everyMs * 0.9)
  expect(words[0]!.isFresh(hash)).toBe(true)
  expect(await is()).toBe('in')
  await expect.poll(() => source.used).toEqual(['token-0'])
  await pass(everyMs * 0.5)
  expect(await is()).toBe('in')
  expect(source.used).toHaveLength(1)
})

test('a login that nobody uses is not asked about', async () => {
  await is()
  await pass(10 * everyMs)
  await gateways[0]!.parts.cuts.add({ appId: 'x', appUid: 'y', cut: () => {} }).look()
  expect(source.used).toEqual([])
})

test('a group that was taken away refuses the next request, and cuts what is open at both gateways', async () => {
  const open = await Promise.all(gateways.map(async each => each.keep(await each.enter('mlflow', [login]))))
  source.groups = ['chemistry']
  await pass(everyMs * 0.7, ...open)
  expect(open.map(({ guard }) => guard.isOpen())).toEqual([true, true])
  await pass(everyMs * 0.4)
  expect(await is()).toBe('forbidden')
  expect(await is('lab', 1)).toBe('in')
  expect(await Promise.all(open.map(async ({ cut }) => (await cut).reason))).toEqual(['forbidden', 'forbidden'])
  expect(results).toEqual(['changed'])
})

test('what is open is asked about without a request, and cut where the source knows the login no more', async () => {
  const open = await Promise.all(gateways.map(async each => each.keep(await each.enter('mlflow', [login]))))
  source.isOver = true
  await pass(everyMs + 1, ...open)
  expect(await Promise.all(open.map(async ({ cut }) => (await cut).reason))).toEqual(['ended', 'ended'])
  expect(await store().redis.exists(store().keys.apps.login(hash))).toBe(0)
  expect(await Promise.all([is(), is('mlflow', 1)])).toEqual(['login', 'login'])
})

test('the last word of a source that is away holds for five minutes, then 503 and a cut, until it is back', async () => {
  const open = gateways[0]!.keep(await gateways[0]!.enter('mlflow', [login]))
  source.isAway = true
  await pass(everyMs + 1)
  expect(await Promise.all([is(), is('mlflow', 1)])).toEqual(['in', 'in'])
  await pass(230_000, open)
  expect(await Promise.all([is(), is('mlflow', 1)])).toEqual(['in', 'in'])
  expect(open.guard.isOpen()).toBe(true)
  await pass(20_000, open)
  expect(await Promise.all([is(), is('mlflow', 1)])).toEqual(['unavailable', 'unavailable'])
  expect((await open.cut).reason).toBe('unavailable')
  // Ten minutes later.
  await pass(300_000)
  expect(await is()).toBe('unavailable')
  source.isAway = false
  await pass(11_000)
  expect(await is()).toBe('in')
  await expect.poll(() => is('mlflow', 1)).toBe('in')
  expect(source.used).toEqual(['token-0'])
})

test('a source that is away is not asked for each request', async () => {
  await is()
  source.isAway = true
  const asked = { count: 0 }
  const { again } = source
  source.again = async kept => {
    asked.count += 1
    return again.call(source, kept)
  }
  await pass(everyMs + 1)
  for (let i = 0; i < 200; i++) expect(await is()).toBe('in')
  expect(asked.count).toBe(1)
})

test('a source that hangs holds no request up, once it has failed', async () => {
  await is()
  source.isAway = true
  await pass(everyMs + 1)
  await is()
  const { promise, resolve } = Promise.withResolvers<void>()
  source.isAway = false
  source.before = () => promise
  await pass(11_000)
  expect(await is()).toBe('in')
  await expect.poll(() => source.used).toHaveLength(1)
  expect(await is()).toBe('in')
  resolve()
})

test('a gateway obeys at once what it has heard itself, without a ring', async () => {
  expect(await is()).toBe('in')
  await gateways[0]!.deafen()
  source.groups = ['chemistry']
  await pass(everyMs + 1)
  expect(await is()).toBe('forbidden')
})

test('a token that Redis does not take at once is kept once it does', async () => {
  await is()
  const { connection, keys } = store()
  const busy = new RecheckStore(connection, keys)
  const end = busy.end.bind(busy)
  let fails = 3
  busy.end = async result => {
    if (fails-- > 0) throw new RetryLater('Redis is halted')
    return end(result)
  }
  await pass(everyMs + 1)
  expect(await rechecks({ connection, keys, clock: clocks[0]! }, busy).ask(hash)).toBe('same')
  await pass(everyMs + 1)
  await expect.poll(() => is('mlflow', 1)).toBe('in')
  expect(source.used).toEqual(['token-0', 'token-1'])
})

test('another gateway asks when the one that has the right is gone, and a token that is noted late is not lost', async () => {
  const { keys, redis } = store()
  await pass(everyMs + 1)
  const late = new RecheckStore(store().connection, keys)
  const terms = { everyMs, lockMs: 9_000 }
  expect(await late.begin(hash, 'dead', terms)).toMatchObject({ is: 'ask', user: 'ada', groups: ['physics'] })
  expect(await late.begin(hash, 'other', terms)).toMatchObject({ is: 'busy' })
  expect(await redis.pttl(keys.apps.asking(hash))).toBeLessThanOrEqual(9_000)
  await redis.del(keys.apps.asking(hash))
  const right = await late.begin(hash, 'other', terms)
  if (right.is !== 'ask') throw new Error(right.is)
  const ended = { hash, was: right.sealed, agoMs: 0 }
  const kept = () => redis.hmget(keys.apps.login(hash), 'sealed', 'groups', 'version', 'checkedMs')
  const [, ...before] = await kept()
  // It has used the token, so what it got is kept, though its right is over. Its word may be older than the other one's.
  expect(await late.end({ ...ended, token: 'dead', sealed: 'sealed-1', groups: ['root'] })).toBe(false)
  expect(await late.end({ ...ended, token: 'other', sealed: 'sealed-2', groups: ['chemistry'] })).toBe(false)
  expect(await kept()).toEqual(['sealed-1', ...before])
  expect(await redis.exists(keys.apps.asking(hash))).toBe(0)
  // So somebody asks at once.
  const next = await late.begin(hash, 'next', terms)
  expect(next).toMatchObject({ is: 'ask', sealed: 'sealed-1', groups: ['physics'] })
  const noted = { hash, token: 'next', was: 'sealed-1', sealed: 'sealed-3', groups: ['chemistry'], agoMs: 0 }
  expect(await late.end(noted)).toBe(true)
  const after = await kept()
  expect(after.slice(0, 2)).toEqual(['sealed-3', '["chemistry"]'])
  // Sent again.
  expect(await late.end(noted)).toBe(false)
  expect(await kept()).toEqual(after)
})

test('a gateway that was halted after it got the right does not use the token', async () => {
  const { connection, keys } = store()
  const clock = clocks[0]!
  const slow = new RecheckStore(connection, keys)
  const begin = slow.begin.bind(slow)
  slow.begin = async (...args) => {
    const right = await begin(...args)
    clock.advance(20_000)
    return right
  }
  await pass(everyMs + 1)
  expect(await rechecks({ connection, keys, clock }, slow).ask(hash)).toBe('same')
  expect([source.used, results]).toEqual([[], ['silent']])
  expect(await is('mlflow', 1)).toBe('in')
  expect(source.used).toEqual(['token-0'])
})

test('a clock of Redis that went back makes no word young', async () => {
  await pass(-3_600_000)
  const answer = await new RecheckStore(store().connection, store().keys).begin(hash, 't', { everyMs, lockMs: 9_000 })
  expect(answer.is).toBe('ask')
})

test('a login that was sealed by another key, or for another login, ends for nobody else', async () => {
  const { redis, keys } = store()
  await is()
  await redis.hset(keys.apps.login(hash), 'sealed', keeper.seal({ token: 'token-0' }, '0'.repeat(64)))
  await pass(everyMs + 1)
  expect(await is()).toBe('in')
  expect([source.used, results]).toEqual([[], ['silent']])
  await pass(300_000)
  expect(await is()).toBe('unavailable')
})
