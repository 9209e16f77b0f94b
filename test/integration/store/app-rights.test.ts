/** The user of gateways in Redis: all that a gateway does works, and nothing else. */
import { Redis as Client } from 'ioredis'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { CodeStore } from '../../../src/store/apps/codes.ts'
import { hashOf } from '../../../src/store/apps/ids.ts'
import { IntentStore } from '../../../src/store/apps/intents.ts'
import { LoginStore } from '../../../src/store/apps/logins.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RecheckStore } from '../../../src/store/apps/rechecks.ts'
import { RevocationStore } from '../../../src/store/apps/revocations.ts'
import { type AppRing, AppsBell } from '../../../src/store/apps/rings.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { SessionStore } from '../../../src/store/apps/sessions.ts'
import type { Connection } from '../../../src/store/connection.ts'
import { missingRightsOfGateway, scriptsOfGateways } from '../../../src/store/rights.ts'
import { TouchStore } from '../../../src/store/touches.ts'
import { TrafficStore } from '../../../src/store/traffic.ts'
import { addGatewayUser, openAsGateway } from '../../kit/apps/gateway-user.ts'
import { members, route } from '../../kit/apps/routes.ts'
import { ownRedis, refusedBy, Store } from '../../kit/store/store.ts'

let store: Store
let gateway: Connection
let url: string

beforeEach(async () => {
  const server = await ownRedis()
  store = await Store.open(server)
  url = await addGatewayUser(store)
  gateway = await openAsGateway(url, store.prefix)
  onTestFinished(async () => {
    gateway.close()
    store.close()
    await server.stop()
  })
})

test('all that a gateway does works by its rights, and each script was called', async () => {
  const { keys } = store
  const [routes, groups] = [new RouteStore(store.connection, keys), new MemberStore(store.connection, keys)]
  await routes.put(route())
  await routes.complete()
  await groups.put('physics', members(['ada']))
  await groups.complete()
  const called = new Set<string>()
  const seen: Pick<Connection, 'run' | 'read' | 'identity'> = {
    run: (name, ...rest) => {
      called.add(name)
      return gateway.run(name, ...rest)
    },
    read: (...all) => gateway.read(...all),
    identity: () => gateway.identity(),
  }
  expect((await new RouteStore(seen, keys).read()).routes.size).toBe(1)
  expect(await new RouteStore(seen, keys).readOne('mlflow')).toEqual(route())
  expect((await new MemberStore(seen, keys).read()).members.size).toBe(1)
  const logins = new LoginStore(seen, keys)
  const made = await logins.create({ user: 'ada', groups: [], begun: await logins.begin(), lifeMs: 60_000 })
  const loginHash = hashOf((made as { id: string }).id)!
  expect(await logins.read(loginHash)).toMatchObject({ user: 'ada' })
  const rechecks = new RecheckStore(seen, keys)
  const right = await rechecks.begin(loginHash, 'token', { everyMs: -1, lockMs: 1_000 })
  expect(right).toMatchObject({ is: 'ask', user: 'ada' })
  const result = { token: 'token', hash: loginHash, was: '', sealed: 'sealed', groups: ['physics'], agoMs: 0 }
  expect(await rechecks.end(result)).toBe(true)
  await rechecks.leave(loginHash, 'token')
  expect(await rechecks.useOnce('0'.repeat(64), 'token', 1_000)).toBe(true)
  const sessions = new SessionStore(seen, keys)
  const app = { appId: 'mlflow', appUid: 'u1', loginHash, user: 'ada' }
  const sessionHash = hashOf((await sessions.create({ ...app, lifeMs: 60_000 }))!)!
  expect(await sessions.check([{ ...app, sessionHash }])).toMatchObject([{ is: 'in' }])
  expect(await sessions.extend([{ loginHash, sessionHash }], 60_000)).toBe(1)
  const codes = new CodeStore(seen, keys)
  const terms = { ...app, nonceHash: '0'.repeat(64) }
  expect(await codes.use(await codes.make(terms), 'token')).toEqual(terms)
  expect(await new IntentStore(seen, keys).ask({ id: 'mlflow', uid: 'u1', generation: 1, user: 'ada' })).toBe('asked')
  const touches = new TouchStore(seen, keys)
  const traffic = new TrafficStore({ touches, clock: systemClock, gateway: 'gw-1', kinds: ['app'] })
  await traffic.join()
  expect(await traffic.touch({ kind: 'app', id: 'mlflow' })).toBe('kept')
  expect(await traffic.flush([{ kind: 'app', id: 'mlflow' }])).toEqual(['kept'])
  await traffic.leave()
  expect(await missingRightsOfGateway(seen, keys)).toEqual([])
  await new RevocationStore(seen, keys).revoke({ user: 'ada' })
  expect(await sessions.check([{ ...app, sessionHash }])).toMatchObject([{ is: 'login' }])
  expect(await logins.remove(loginHash)).toBe(true)
  expect([...called].sort()).toEqual([...scriptsOfGateways].sort())
  expect(await refusedBy(store.server)).toEqual([])
})

test('a gateway hears the bell of apps, and its newest entry, by its rights', async () => {
  const bell = new AppsBell(gateway, store.keys, systemClock)
  let heard: (ring: AppRing) => void = () => {}
  const next = () => new Promise<AppRing>(resolve => (heard = resolve))
  bell.on(ring => heard(ring))
  const first = next()
  const listening = bell.listen()
  expect(await first).toEqual({ what: 'missed' })
  const second = next()
  await new RouteStore(store.connection, store.keys).put(route())
  expect(await second).toEqual({ what: 'routes', subject: { kind: 'app', name: 'mlflow' } })
  expect((await gateway.newest(store.keys.apps.bell))?.[0]).toBe('1-1')
  bell.close()
  gateway.listening.disconnect()
  await listening
  expect(await refusedBy(store.server)).toEqual([])
})

test('missingRightsOfGateway names what is missing', async () => {
  // Redis knows the script that asks.
  expect(await missingRightsOfGateway(gateway, store.keys)).toEqual([])
  await store.redis.call('ACL', 'SETUSER', 'gateway', '-hset', '-xread', '-script|load')
  expect((await missingRightsOfGateway(gateway, store.keys)).toSorted()).toEqual(['hset', 'script', 'xread'])
  await store.redis.call('ACL', 'SETUSER', 'gateway', 'resetkeys', `~{${store.prefix}}:gw:*`, '+hset', '+xread')
  expect(await missingRightsOfGateway(gateway, store.keys)).toContain('hgetall')
})

test('everything else is refused to a gateway', async () => {
  const { keys, prefix } = store
  await new RouteStore(store.connection, keys).put(route())
  await store.compare()
  await store.create('ada')
  const client = new Client(url).on('error', () => {})
  onTestFinished(() => client.disconnect())
  const { routes, members: groups, epoch, intents } = keys.apps
  const forge = (key: string) => client.call('EVALSHA', sha, '1', key, 'mlflow', '{}')
  const sha = String(await client.script('LOAD', "return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])"))
  const quietly = String(await client.script('LOAD', "return redis.call('HSET', ARGV[1], 'mlflow', '{}')"))
  const calls: (() => Promise<unknown>)[] = [
    ...[routes, groups, keys.activityFloor, keys.generation].flatMap(key => [
      () => client.hset(key, 'mlflow', '{}'),
      () => client.hdel(key, 'mlflow'),
      () => client.del(key),
      () => client.pexpire(key, 1),
      () => forge(key),
      () => client.call('EVALSHA', quietly, '0', key),
    ]),
    ...[keys.bell, keys.last, keys.record('ada'), keys.activity('lab', 'ada'), keys.activityFlushed('lab')].flatMap(
      key => [() => client.hgetall(key), () => client.del(key), () => client.set(key, '1')],
    ),
    ...[`{${prefix}}:gwx`, `${prefix}:gw:x`, `{other}:gw:x`, '{}:gw:x', keys.family('app').record('mlflow')].map(
      key => () => client.hgetall(key),
    ),
    () => client.xread('STREAMS', keys.bell, '0'),
    () => client.eval('return 1', 0),
    () => client.call('EVAL_RO', 'return 1', '0'),
    () => client.call('FCALL', 'x', '0'),
    () => client.call('FUNCTION', 'LOAD', '#!lua name=x\nreturn 1'),
    () => client.script('FLUSH'),
    () => client.script('KILL'),
    () => client.keys('*'),
    () => client.scan(0),
    () => client.call('RANDOMKEY'),
    () => client.dump(epoch),
    () => client.rename(intents, epoch),
    () => client.xtrim(keys.apps.bell, 'MAXLEN', 0),
    () => client.publish('x', 'y'),
    () => client.flushall(),
    () => client.flushdb(),
    () => client.config('GET', '*'),
    () => client.call('ACL', 'LIST'),
    () => client.call('CLIENT', 'LIST'),
    () => client.call('MONITOR'),
    () => client.call('REPLICAOF', 'NO', 'ONE'),
    () => client.call('SELECT', '1'),
  ]
  const before = await store.redis.hgetall(routes)
  for (const [i, call] of calls.entries()) {
    await expect(call(), String(calls[i])).rejects.toThrow(/NOPERM|can't access|can't run/)
  }
  expect(await store.redis.hgetall(routes)).toEqual(before)
})
