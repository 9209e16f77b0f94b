/** What is open is cut within a second of a ring, within five without it, at every gateway. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CutReason } from '../../../src/gateway/access/guard.ts'
import { LoginStore } from '../../../src/store/apps/logins.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RevocationStore } from '../../../src/store/apps/revocations.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { Keys } from '../../../src/store/keys.ts'
import { TestGateway, type TestOpen } from '../../kit/apps/gateway-access.ts'
import { addGatewayUser } from '../../kit/apps/gateway-user.ts'
import { members, route } from '../../kit/apps/routes.ts'
import { ManualClock } from '../../kit/clock.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const people = {
  'token-ada': { username: 'ada', groups: [{ name: 'chemistry' }] },
  'token-bob': { username: 'bob', groups: [] },
}
const each = 100

let gateways: readonly [TestGateway, TestGateway]
let clocks: readonly ManualClock[]

beforeEach(async () => {
  const { connection, keys, prefix } = store()
  const routes = new RouteStore(connection, keys)
  await routes.put(route())
  await routes.put(route({ id: 'other', uid: 'u2' }))
  await routes.complete()
  const groups = new MemberStore(connection, keys)
  await groups.put('physics', members(['oidc:ada', 'oidc:bob']))
  await groups.complete()
  const url = await addGatewayUser(store())
  clocks = [0, 1].map(() => new ManualClock({ runs: true }))
  const open = (clock: ManualClock) => TestGateway.open({ url, keyPrefix: prefix, people, clock })
  gateways = [await open(clocks[0]!), await open(clocks[1]!)]
})

afterEach(() => Promise.all(gateways.map(gateway => gateway.close())))

interface Opened {
  /** The hash of the login. */
  readonly loginHash: string
  readonly hit: readonly TestOpen[]
  /** Those of somebody, or something, else. */
  readonly spared: readonly TestOpen[]
}

/** Sockets of ada's at the app, at both gateways; and others, each of which differs by one thing. */
async function openAll(): Promise<Opened> {
  const [ada, again, bob] = [
    await gateways[0].logIn('token-ada'),
    await gateways[0].logIn('token-ada'),
    await gateways[1].logIn('token-bob'),
  ]
  const hit: TestOpen[] = []
  const spared: TestOpen[] = []
  let loginHash = ''
  for (const gateway of gateways) {
    const admission = await gateway.enter('mlflow', [ada!])
    loginHash = admission.loginHash!
    for (let i = 0; i < each; i++) hit.push(gateway.keep(admission))
    spared.push(gateway.keep(await gateway.enter('other', [bob!])))
    spared.push(gateway.keep(await gateway.enter('other', [again!])))
  }
  return { loginHash, hit, spared }
}

/** @returns after how many ms the last one was cut */
async function strike(opened: Opened, blow: () => Promise<unknown>, reason: CutReason): Promise<number> {
  for (const open of [...opened.hit, ...opened.spared]) expect(open.guard.mayPass()).toBe(true)
  const atMs = performance.now()
  await blow()
  const cuts = await Promise.all(opened.hit.map(({ cut }) => cut))
  expect(new Set(cuts.map(cut => cut.reason))).toEqual(new Set([reason]))
  expect(opened.hit.some(({ guard }) => guard.isOpen() || guard.mayPass())).toBe(false)
  return Math.max(...cuts.map(cut => cut.atMs)) - atMs
}

interface Blow {
  readonly kind: string
  readonly reason: CutReason
  readonly strike: (keys: Keys, opened: Opened) => Promise<unknown>
}

const on = (keys: Keys) => ({
  routes: new RouteStore(store().connection, keys),
  groups: new MemberStore(store().connection, keys),
  logins: new LoginStore(store().connection, keys),
  revocations: new RevocationStore(store().connection, keys),
})

const blows: readonly Blow[] = [
  { kind: 'a logout', reason: 'ended', strike: (keys, { loginHash }) => on(keys).logins.remove(loginHash) },
  {
    kind: 'a revocation of the app',
    reason: 'ended',
    strike: keys => on(keys).revocations.revoke({ appId: 'mlflow' }),
  },
  {
    kind: 'a revocation of the user in the app',
    reason: 'ended',
    strike: keys => on(keys).revocations.revoke({ appId: 'mlflow', user: 'ada' }),
  },
  {
    kind: 'a change of the group',
    reason: 'forbidden',
    strike: keys => on(keys).routes.put(route({ generation: 2, group: 'biology' })),
  },
  {
    kind: 'a stop',
    reason: 'stopped',
    strike: keys => on(keys).routes.put(route({ generation: 2, phase: 'Stopping' })),
  },
  { kind: 'a deletion', reason: 'gone', strike: keys => on(keys).routes.remove('mlflow', 'u1') },
  {
    kind: 'an app of the same id',
    reason: 'gone',
    strike: keys => on(keys).routes.put(route({ uid: 'u0', createdMs: 1 })),
  },
]

describe('what is open is cut within a second', () => {
  test.each(blows)('of $kind', async ({ strike: blow, reason }) => {
    const opened = await openAll()
    const ms = await strike(opened, () => blow(store().keys, opened), reason)
    expect(ms).toBeLessThan(1_000)
    expect(opened.spared.map(({ reason }) => reason)).toEqual(opened.spared.map(() => undefined))
  })

  test('of a revocation of the user, whatever he has open', async () => {
    const { revocations } = on(store().keys)
    const opened = await openAll()
    const adas = opened.spared.filter((_, i) => i % 2 === 1)
    const all = { ...opened, hit: [...opened.hit, ...adas], spared: opened.spared.filter((_, i) => i % 2 === 0) }
    expect(await strike(all, () => revocations.revoke({ user: 'ada' }), 'ended')).toBeLessThan(1_000)
    expect(all.spared.some(({ reason }) => reason)).toBe(false)
  })

  test('of a change of the members', async () => {
    const { groups } = on(store().keys)
    const opened = await openAll()
    const adas = opened.spared.filter((_, i) => i % 2 === 1)
    const all = { ...opened, hit: [...opened.hit, ...adas], spared: opened.spared.filter((_, i) => i % 2 === 0) }
    const blow = () => groups.put('physics', members(['oidc:bob'], { generation: 2 }))
    expect(await strike(all, blow, 'forbidden')).toBeLessThan(1_000)
    expect(all.spared.some(({ reason }) => reason)).toBe(false)
  })
})

/** The same keys, but for a bell that nobody hears. */
class LostBell extends Keys {
  constructor(prefix: string) {
    super(prefix)
    Object.assign(this.apps, { bell: `${this.apps.epoch}-lost` })
  }
}

/** `SKYLAB_FAULTS=all`: each of them. */
const isWhole = process.env.SKYLAB_FAULTS === 'all'

test.each(isWhole ? blows : blows.filter(({ kind }) => ['a logout', 'a stop'].includes(kind)))(
  'what is open is cut within five seconds of $kind when the ring was lost',
  async ({ strike: blow, reason }) => {
    const opened = await openAll()
    const ms = await strike(opened, () => blow(new LostBell(store().prefix), opened), reason)
    expect(ms).toBeLessThan(5_000)
    expect(opened.spared.some(({ reason }) => reason)).toBe(false)
  },
)

test('a byte waits for a look when a gateway was halted for ten seconds, and none of a revoked one passes', async () => {
  const opened = await openAll()
  const { logins } = on(new LostBell(store().prefix))
  await logins.remove(opened.loginHash)
  // The process ran no code meanwhile; its clock went on.
  for (const clock of clocks) clock.advance(10_000)
  const all = [...opened.hit, ...opened.spared]
  expect(all.some(({ guard }) => guard.mayPass())).toBe(false)
  await Promise.all(all.map(({ guard }) => guard.look()))
  expect(opened.hit.every(({ reason }) => reason === 'ended')).toBe(true)
  expect(opened.spared.every(({ guard }) => guard.mayPass())).toBe(true)
})

test('a revocation between a verdict and its entry among what is open cuts it', async () => {
  const login = await gateways[0].logIn('token-ada')
  const admission = await gateways[0].enter('mlflow', [login])
  const heard = new Promise<void>(resolve => gateways[0].bell.on(({ what }) => what === 'sessions' && resolve()))
  await on(store().keys).logins.remove(admission.loginHash!)
  await heard
  const open = gateways[0].keep(admission)
  expect((await open.cut).reason).toBe('ended')
})
