/** Who may go to which app, by two gateways on one real Redis with the rights of gateways. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId } from '../../../src/store/apps/ids.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { TestGateway } from '../../kit/apps/gateway-access.ts'
import { addGatewayUser } from '../../kit/apps/gateway-user.ts'
import { members, route } from '../../kit/apps/routes.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const group = (name: string) => ({ name })
const people = {
  'token-ada': { username: 'ada', groups: [group('other')] },
  'token-bob': { username: 'bob', groups: [group('physics'), group('chemistry')] },
}

let gateways: readonly [TestGateway, TestGateway]
let routes: RouteStore
let groups: MemberStore

beforeEach(async () => {
  const { connection, keys, prefix } = store()
  routes = new RouteStore(connection, keys)
  groups = new MemberStore(connection, keys)
  await routes.put(route())
  await routes.put(route({ id: 'second', uid: 'u2' }))
  await routes.put(route({ id: 'open', uid: 'u3', audience: { kind: 'public' } }))
  await routes.put(route({ id: 'all', uid: 'u4', audience: { kind: 'loggedIn' } }))
  await routes.put(route({ id: 'lab', uid: 'u5', group: 'chemistry' }))
  await routes.complete()
  await groups.put('physics', members(['oidc:ada']))
  await groups.complete()
  const url = await addGatewayUser(store())
  const open = () => TestGateway.open({ url, keyPrefix: prefix, people })
  gateways = [await open(), await open()]
})

afterEach(() => Promise.all(gateways.map(gateway => gateway.close())))

const is = async (appId: string, login: readonly string[] = [], session: readonly string[] = []) =>
  (await gateways[0].verdict(appId, login, session)).is

test('verdict asks for a login when there is none, and tells nothing of apps', async () => {
  expect(await is('mlflow')).toBe('login')
  expect(await is('nothing')).toBe('login')
  expect(await is('mlflow', [newId(), 'x', ''], [newId()])).toBe('login')
  expect(await is('nothing', [newId()])).toBe('login')
  expect(await is('open')).toBe('in')
})

test('verdict lets in whom the audience names, and says unknown to those who are logged in', async () => {
  const [ada, bob] = [await gateways[0].logIn('token-ada'), await gateways[1].logIn('token-bob')]
  const verdicts = async (login: string) =>
    Promise.all(['mlflow', 'lab', 'all', 'open', 'nothing'].map(id => is(id, [login])))
  // Of physics the LNamespace decides, of chemistry the identity provider.
  expect(await verdicts(ada)).toEqual(['in', 'forbidden', 'in', 'in', 'unknown'])
  expect(await verdicts(bob)).toEqual(['forbidden', 'in', 'in', 'in', 'unknown'])
  expect(await gateways[0].verdict('open', [ada])).toEqual({ is: 'in', route: expect.anything() })
  expect(await gateways[0].verdict('lab', [ada])).toMatchObject({ user: 'ada', route: { group: 'chemistry' } })
})

test('a login gets a session of the app, which holds at every gateway', async () => {
  const login = await gateways[0].logIn('token-ada')
  const first = await gateways[0].enter('mlflow', [login])
  expect(first).toMatchObject({ user: 'ada', newSessionId: expect.stringMatching(/^[\w-]{43}$/) })
  const again = await gateways[1].enter('mlflow', [login], [first.newSessionId!])
  expect(again).toMatchObject({ user: 'ada', sessionHash: first.sessionHash })
  expect(again.newSessionId).toBeUndefined()
})

test('a client without cookies of sessions fills no Redis', async () => {
  const login = await gateways[0].logIn('token-ada')
  const ids = new Set<string | undefined>()
  const enter = async () => ids.add((await gateways[0].enter('mlflow', [login])).newSessionId)
  await Promise.all(Array.from({ length: 20 }, enter))
  for (let i = 0; i < 5; i++) await enter()
  expect(ids.size).toBe(1)
  expect(await store().redis.keys(store().keys.apps.session('*'))).toHaveLength(1)
})

test('a session of another app, of a namesake that is gone, or of another login lets nobody in', async () => {
  const [ada, bob] = [await gateways[0].logIn('token-ada'), await gateways[0].logIn('token-bob')]
  const adas = (await gateways[0].enter('all', [ada])).newSessionId!
  const second = (await gateways[0].enter('second', [ada])).newSessionId!
  // By a login that may not, no session of somebody who may helps.
  expect(await is('second', [bob], [second])).toBe('forbidden')
  expect(await is('second', [], [second])).toBe('login')
  const swapped = await gateways[0].enter('all', [ada], [second])
  expect(swapped.newSessionId).toBe(adas)
  const bobs = await gateways[0].enter('all', [bob], [adas])
  expect(bobs).toMatchObject({ user: 'bob', newSessionId: expect.any(String) })
  expect(bobs.newSessionId).not.toBe(adas)
  await routes.remove('all', 'u4')
  await routes.put(route({ id: 'all', uid: 'u9', createdMs: 9_000, audience: { kind: 'loggedIn' } }))
  await Promise.all(gateways.map(({ parts }) => parts.routes.look()))
  const anew = await gateways[0].enter('all', [ada], [adas])
  expect(anew).toMatchObject({ route: { uid: 'u9' }, newSessionId: expect.any(String) })
  expect(anew.newSessionId).not.toBe(adas)
})

test('of 200 cookies of each kind four are tried', async () => {
  const login = await gateways[0].logIn('token-ada')
  const session = (await gateways[0].enter('mlflow', [login])).newSessionId!
  const others = Array.from({ length: 200 }, newId)
  expect(await is('mlflow', [...others, login])).toBe('login')
  expect(await is('mlflow', [...others.slice(0, 3), login], others)).toBe('in')
  const found = await gateways[1].enter('mlflow', [login], [...others.slice(0, 3), session])
  expect(found.newSessionId).toBeUndefined()
})

test('requests within five seconds ask Redis once', async () => {
  const login = await gateways[1].logIn('token-ada')
  const session = (await gateways[1].enter('mlflow', [login])).newSessionId!
  await gateways[0].enter('mlflow', [login], [session])
  const { counts } = gateways[0]
  const before = counts.asks
  await Promise.all(Array.from({ length: 100 }, () => gateways[0].enter('mlflow', [login], [session])))
  expect(counts.asks).toBe(before)
})

test('nobody gets in unasked when Redis was emptied, and the routes are known still', async () => {
  const login = await gateways[0].logIn('token-ada')
  const admission = await gateways[0].enter('mlflow', [login])
  const open = gateways[0].keep(admission)
  const { redis, prefix } = store()
  const missed = new Promise<void>(resolve => {
    gateways[0].bell.on(({ what }) => what === 'missed' && resolve())
  })
  await redis.del(await redis.keys(`{${prefix}}:*`))
  expect((await open.cut).reason).toBe('ended')
  await missed
  await Promise.all([gateways[0].parts.routes.look(), gateways[0].parts.members.look()])
  expect(await is('mlflow', [login], [admission.newSessionId!])).toBe('login')
  expect(gateways[0].parts.routes.get('mlflow')).toMatchObject({ uid: 'u1' })
  expect(await is('open')).toBe('in')
  const again = await gateways[0].logIn('token-ada')
  expect(await is('mlflow', [again])).toBe('in')
  const bob = await gateways[0].logIn('token-bob')
  // The LNamespace of physics, of which Redis knows nothing any more, decides still.
  expect(await is('mlflow', [bob])).toBe('forbidden')
})

test('a gateway that starts beside an emptied Redis lets nobody in', async () => {
  const { redis, keys, prefix } = store()
  await redis.del(keys.apps.members)
  const url = await addGatewayUser(store())
  const gateway = await TestGateway.open({ url, keyPrefix: prefix, people })
  try {
    const login = await gateway.logIn('token-bob')
    expect((await gateway.verdict('mlflow', [login])).is).toBe('unavailable')
    await redis.del(keys.apps.routes)
    await gateway.parts.routes.look()
    expect((await gateway.verdict('nothing', [login])).is).toBe('unknown')
    await groups.put('physics', members(['oidc:bob'], { uid: 'g9', createdMs: 9_000 }))
    await groups.complete()
    await gateway.parts.members.look()
    expect((await gateway.verdict('mlflow', [login])).is).toBe('in')
  } finally {
    await gateway.close()
  }
})

test('a dump of Redis has neither tokens nor ids that open something', async () => {
  const login = await gateways[0].logIn('token-ada')
  const admission = await gateways[0].enter('mlflow', [login])
  const { redis, server } = store()
  await redis.config('SET', 'rdbcompression', 'no')
  await redis.save()
  const [, folder] = (await redis.config('GET', 'dir')) as string[]
  const dump = readFileSync(join(folder!, 'dump.rdb'))
  expect(server.port).toBeGreaterThan(0)
  expect(dump.includes(admission.loginHash!)).toBe(true)
  expect(dump.includes(admission.sessionHash!)).toBe(true)
  for (const secret of ['token-ada', login, admission.newSessionId!]) {
    const bytes = Buffer.from(secret, 'base64url')
    for (const form of [secret, bytes, bytes.toString('hex'), bytes.toString('base64')]) {
      expect(dump.includes(form)).toBe(false)
    }
  }
  // What the dump has is no id.
  expect(await is('mlflow', [admission.loginHash!], [admission.sessionHash!])).toBe('login')
})
