/** Logins, sessions and revocations on a real Redis. */
import { expect, test } from 'vitest'
import { hashOf } from '../../../src/store/apps/ids.ts'
import { LoginStore } from '../../../src/store/apps/logins.ts'
import { RevocationStore } from '../../../src/store/apps/revocations.ts'
import { type SessionClaim, SessionStore } from '../../../src/store/apps/sessions.ts'
import { pairs } from '../../../src/store/fields.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const logins = () => new LoginStore(store().connection, store().keys)
const sessions = () => new SessionStore(store().connection, store().keys)
const revocations = () => new RevocationStore(store().connection, store().keys)
const hourMs = 3_600_000
const app = { appId: 'mlflow', appUid: 'u1' }

async function login(user = 'ada', lifeMs = 12 * hourMs): Promise<{ id: string; hash: string }> {
  const made = await logins().create({ user, groups: ['physics'], begun: await logins().begin(), lifeMs })
  if (made === 'revoked') throw new Error('revoked')
  return { id: made.id, hash: hashOf(made.id)! }
}

async function enter(loginHash: string, user = 'ada', of = app): Promise<SessionClaim & { id: string }> {
  const id = await sessions().create({ ...of, loginHash, user, lifeMs: hourMs / 2 })
  if (id === undefined) throw new Error('no session')
  return { ...of, loginHash, user, sessionHash: hashOf(id)!, id }
}

const find = async (...claims: SessionClaim[]) => (await sessions().check(claims)).map(({ is }) => is)

async function rings(): Promise<string[]> {
  const entries = await store().redis.xrange(store().keys.apps.bell, '-', '+')
  return entries.map(([, flat]) => `${pairs(flat).get('what')} ${pairs(flat).get('subject')}`)
}

test('a login is read back by the hash of its id, and ends with its life', async () => {
  const { hash } = await login()
  const read = (await logins().read(hash))!
  expect(read).toMatchObject({ user: 'ada', groups: ['physics'], version: '1', sealed: '' })
  expect(read.expiresMs - read.createdMs).toBe(12 * hourMs)
  const { redis, keys } = store()
  expect(await redis.pttl(keys.apps.login(hash))).toBeGreaterThan(11 * hourMs)
  expect(await redis.pttl(keys.apps.loginsOf('ada'))).toBeGreaterThan(11 * hourMs)
  expect(await logins().read('0'.repeat(64))).toBeUndefined()
})

test.each([
  ['user', ''],
  ['groups', '{'],
  ['groups', '"physics"'],
  ['createdMs', '-1'],
  ['version', 'x'],
])('a login is none when its %s is %j', async (field, value) => {
  const { hash } = await login()
  await store().redis.hset(store().keys.apps.login(hash), field, value)
  expect(await logins().read(hash)).toBeUndefined()
})

test('Redis has hashes alone: neither an id of a login nor one of a session', async () => {
  const { id, hash } = await login()
  const session = await enter(hash)
  await sessions().extend([session], hourMs / 2)
  const { redis, prefix } = store()
  const dump: string[] = []
  const read: Record<string, (key: string) => Promise<unknown>> = {
    hash: key => redis.hgetall(key),
    zset: key => redis.zrange(key, '0', '-1'),
    stream: key => redis.xrange(key, '-', '+'),
    string: key => redis.get(key),
  }
  for (const key of await redis.keys(`{${prefix}}:*`)) {
    const value = await read[await redis.type(key)]!(key)
    dump.push(key, JSON.stringify(value))
  }
  expect(dump.join('\n')).toContain(hash)
  for (const secret of [id, session.id]) {
    const bytes = Buffer.from(secret, 'base64url')
    for (const form of [secret, bytes.toString('hex'), bytes.toString('base64')]) {
      expect(dump.join('\n')).not.toContain(form)
    }
  }
})

test('create ends the former session, and nothing where the login is void', async () => {
  const [ada, void_] = [await login(), await login()]
  const former = await enter(ada.hash)
  await logins().remove(void_.hash)
  const asked = { ...app, user: 'ada', lifeMs: hourMs, formerId: former.id }
  expect(await sessions().create({ ...asked, loginHash: void_.hash })).toBeUndefined()
  expect(await find(former)).toEqual(['in'])
  const id = await sessions().create({ ...asked, loginHash: ada.hash })
  expect(await find(former, { ...former, sessionHash: hashOf(id!)! })).toEqual(['session', 'in'])
})

test('check finds a session only when session, login, app, UID and user agree', async () => {
  const mine = await login()
  const others = await login('eve')
  const claim = await enter(mine.hash)
  const eves = await enter(others.hash, 'eve')
  const wrong: SessionClaim[] = [
    { ...claim, appUid: 'u2' },
    { ...claim, appId: 'other' },
    { ...claim, sessionHash: '0'.repeat(64) },
    { ...claim, sessionHash: eves.sessionHash },
  ]
  expect(await find(claim, eves, ...wrong)).toEqual(['in', 'in', 'session', 'session', 'session', 'session'])
  const swapped: SessionClaim[] = [
    { ...claim, loginHash: others.hash },
    { ...claim, user: 'eve' },
    { ...claim, loginHash: '0'.repeat(64) },
  ]
  expect(await find(...swapped, { ...claim, loginHash: others.hash, user: 'eve' })).toEqual([
    ...['login', 'login', 'login'],
    'session',
  ])
})

test('check answers in order when there are more than one script takes', async () => {
  const { hash } = await login()
  const claim = await enter(hash)
  const claims = Array.from({ length: 600 }, (_, i) => (i % 3 === 0 ? claim : { ...claim, appUid: 'u2' }))
  expect(await find(...claims)).toEqual(claims.map((_, i) => (i % 3 === 0 ? 'in' : 'session')))
})

test('a logout ends the login and all its sessions, and rings', async () => {
  const [one, other] = [await login(), await login()]
  const [mine, stays] = [await enter(one.hash), await enter(other.hash)]
  expect(await logins().remove(one.hash)).toBe(true)
  expect(await logins().remove(one.hash)).toBe(false)
  expect(await find(mine, stays)).toEqual(['login', 'in'])
  expect(await sessions().create({ ...app, loginHash: one.hash, user: 'ada', lifeMs: 1_000 })).toBeUndefined()
  expect(await rings()).toEqual(Array(2).fill(`sessions login:${one.hash}`))
})

test('a revocation of a user ends all his logins, and later ones hold', async () => {
  const [ada, bob] = [await login(), await login('bob')]
  const claims = [await enter(ada.hash), await enter(bob.hash, 'bob')]
  await revocations().revoke({ user: 'ada' })
  expect(await find(...claims)).toEqual(['login', 'in'])
  expect(await sessions().create({ ...app, loginHash: ada.hash, user: 'ada', lifeMs: 1_000 })).toBeUndefined()
  const again = await login()
  expect(await find(await enter(again.hash))).toEqual(['in'])
  expect(await rings()).toEqual(['sessions user:ada'])
})

test('create is refused when the user was revoked since the login began', async () => {
  const begun = await logins().begin()
  await revocations().revoke({ user: 'ada' })
  const create = { user: 'ada', groups: [], lifeMs: hourMs }
  expect(await logins().create({ ...create, begun })).toBe('revoked')
  expect(await store().redis.exists(store().keys.apps.loginsOf('ada'))).toBe(0)
  expect(await logins().create({ ...create, begun: await logins().begin() })).toMatchObject({ id: expect.any(String) })
})

test('a login that began before Redis was emptied is ended by a later revocation', async () => {
  await revocations().revoke({ user: 'eve' })
  const begun = await logins().begin()
  const { redis, keys } = store()
  await redis.del(keys.apps.epoch, keys.apps.revokedUser('eve'))
  const made = await logins().create({ user: 'ada', groups: [], begun: begun + 10 * hourMs, lifeMs: hourMs })
  const hash = hashOf((made as { id: string }).id)!
  const claim = await enter(hash)
  await revocations().revoke({ user: 'ada' })
  expect(await find(claim)).toEqual(['login'])
})

test('create is refused when Redis was emptied, and the user revoked, since the login began', async () => {
  const revoke = (user: string) => revocations().revoke({ user })
  for (let i = 0; i < 3; i++) await revoke('eve')
  const begun = await logins().begin()
  const { redis, keys } = store()
  await redis.del(keys.apps.epoch, keys.apps.revokedUser('eve'))
  await revoke('ada')
  for (let i = 0; i < 4; i++) await revoke('eve')
  expect(await logins().create({ user: 'ada', groups: [], begun, lifeMs: hourMs })).toBe('revoked')
})

test('a revocation of an app, or of a user in it, ends those sessions alone', async () => {
  const [ada, bob] = [await login(), await login('bob')]
  const other = { appId: 'other', appUid: 'u9' }
  const claims = [await enter(ada.hash), await enter(bob.hash, 'bob'), await enter(ada.hash, 'ada', other)]
  await revocations().revoke({ user: 'bob', appId: 'mlflow' })
  expect(await find(...claims)).toEqual(['in', 'session', 'in'])
  await revocations().revoke({ appId: 'mlflow' })
  expect(await find(...claims)).toEqual(['session', 'session', 'in'])
  expect(await find(await enter(ada.hash), await enter(bob.hash, 'bob'))).toEqual(['in', 'in'])
  expect(await rings()).toEqual(['sessions user:bob', 'sessions app:mlflow'])
  await expect(revocations().revoke({})).rejects.toThrow('of nothing')
})

test('what is known of revocations ends with the last login that it may concern', async () => {
  await revocations().revoke({ user: 'ada' })
  const { redis, keys } = store()
  const left = await redis.pttl(keys.apps.revokedUser('ada'))
  expect(left).toBeGreaterThan(167 * hourMs)
  expect(left).toBeLessThanOrEqual(168 * hourMs)
})

test('a session ends with its login, and is extended only within it', async () => {
  const { redis, keys } = store()
  const short = await login('ada', 10_000)
  const long = await login('ada')
  const claims = [await enter(short.hash), await enter(long.hash)]
  const left = () => Promise.all(claims.map(({ sessionHash }) => redis.pttl(keys.apps.session(sessionHash))))
  expect((await left())[0]).toBeLessThanOrEqual(10_000)
  for (const { sessionHash } of claims) await redis.pexpire(keys.apps.session(sessionHash), 5_000)
  const gone = { ...claims[1]!, sessionHash: '0'.repeat(64) }
  expect(await sessions().extend([...claims, gone], hourMs / 2)).toBe(2)
  const [ofShort, ofLong] = await left()
  expect(ofShort).toBeGreaterThan(5_000)
  expect(ofShort).toBeLessThanOrEqual(10_000)
  expect(ofLong).toBeGreaterThan(hourMs / 2 - 5_000)
  expect(await redis.exists(keys.apps.session(gone.sessionHash))).toBe(0)
})

test('a user has 50 logins at most, of which the oldest end', async () => {
  const made: string[] = []
  for (let i = 0; i < 52; i++) made.push((await login('ada', hourMs + i)).hash)
  const read = await Promise.all(made.map(hash => logins().read(hash)))
  expect(read.map(login => login !== undefined)).toEqual(made.map((_, i) => i >= 2))
  expect(await store().redis.zcard(store().keys.apps.loginsOf('ada'))).toBe(50)
  expect(await rings()).toEqual(made.slice(0, 2).map(hash => `sessions login:${hash}`))
})

test('nobody is in when Redis was emptied', async () => {
  const { hash } = await login()
  const claim = await enter(hash)
  const { redis, prefix } = store()
  await redis.del(await redis.keys(`{${prefix}}:*`))
  expect(await find(claim)).toEqual(['login'])
  expect(await logins().read(hash)).toBeUndefined()
  expect(await sessions().create({ ...app, loginHash: hash, user: 'ada', lifeMs: 1_000 })).toBeUndefined()
})
