/** A sealed plan can be opened by every replica that may own it, and by no other. */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { Sealer } from '../../../src/store/sealing.ts'
import { creation, Store, sealing, ttlMs, useStore } from '../../kit/store/store.ts'

const store = useStore()

/** Another replica of the same installation, with keys of its own. */
async function replica(ids: string): Promise<Store> {
  const { server, prefix } = store()
  const other = await Store.open(server, prefix, server.programUrl, { ...sealing, ids })
  onTestFinished(() => other.close())
  return other
}

const accept = async ({ labs }: Store, user: string) => (await labs.acceptCreate(creation(user))).answer

test('a replica without the others’ sealing key accepts nothing and owns nothing', async () => {
  await store().create('ada')
  const stranger = await replica('third')
  expect(await accept(stranger, 'grace')).toBe('sealed')
  expect(await store().record('grace')).toBeNull()
  expect(stranger.owners.opens).toBeUndefined()
  expect(await stranger.owners.look(10, true)).toBeNull()
  expect(stranger.owners.opens).toBe(false)
  await stranger.hold('ada', 'token')
  expect(await stranger.owners.claim('ada', 'token', ttlMs)).toBeNull()
  expect(await store().record('ada')).toMatchObject({ token: '', claims: 0, attempts: 0 })
  expect(await store().owners.claim('ada', 'token', ttlMs)).not.toBeNull()
  // A deletion has no plan.
  expect(await stranger.delete('ada')).toMatchObject({ answer: 'accepted' })
})

/** Simulates that no replica with the named key first has looked for longer than `sealing.idleMs`. */
const idle = () => store().redis.pexpire(store().keys.sealing, sealing.keepMs - sealing.idleMs - 1)
const named = () => store().redis.get(store().keys.sealing)
const look = ({ owners }: Store) => owners.look(10, true)

test('a look names the next key when no replica has the named one first any more', async () => {
  const next = await replica('third first')
  await look(store())
  await look(next)
  expect(await named()).toBe('first')
  await idle()
  await look(next)
  expect(await named()).toBe('third')
  // A replica with the new key alone works now, without a creation in between.
  const last = await replica('third')
  expect(await look(last)).not.toBeNull()
  expect(await look(store())).toBeNull()
})

test('a replica without the named key does not work while another one has that key first', async () => {
  const [next, last] = [await replica('third first'), await replica('third')]
  for (const turn of ['first', 'second']) {
    await look(store())
    await accept(next, `u-${turn}`)
    await look(next)
    expect(await named()).toBe('first')
    expect(await look(last)).toBeNull()
    expect(await accept(last, 'grace')).toBe('sealed')
  }
})

test('a look of a replica without the named key names nothing', async () => {
  await look(store())
  await idle()
  const stranger = await replica('third')
  expect(await look(stranger)).toBeNull()
  expect(await named()).toBe('first')
})

test('a creation is sealed with the named key, and only that one', async () => {
  const other = await replica('third first')
  const sealedWith: string[] = []
  const create = async (user: string) => {
    const sealPlan = (key: string) => {
      sealedWith.push(key)
      return `sealed with ${key}`
    }
    expect((await other.labs.acceptCreate(creation(user, { sealPlan }))).answer).toBe('accepted')
    return store().redis.hget(store().keys.record(user), 'plan')
  }
  await look(store())
  expect(await create('ada')).toBe('sealed with first')
  expect(await create('grace')).toBe('sealed with first')
  await idle()
  await look(other)
  expect(await create('edsger')).toBe('sealed with third')
  expect(sealedWith).toEqual(['third', 'first', 'first', 'first', 'third'])
})

test('a creation does not renew the named key', async () => {
  const { redis, keys } = store()
  await look(store())
  await redis.pexpire(keys.sealing, 30_000)
  expect(await accept(store(), 'ada')).toBe('accepted')
  expect(await redis.pttl(keys.sealing)).toBeLessThanOrEqual(30_000)
})

test('replicas that differ only in the order of their keys do not hinder each other', async () => {
  const other = await replica('second first')
  for (const [i, each] of [store(), other, other, store(), other].entries()) {
    expect(await accept(each, `u${i}`)).toBe('accepted')
    for (const any of [store(), other]) expect(await look(any)).not.toBeNull()
  }
})

test('a key is stored for as long as a replica has it first, and no longer', async () => {
  const { redis, keys } = store()
  const left = () => redis.pttl(keys.sealing)
  await look(store())
  expect(await named()).toBe('first')
  await redis.pexpire(keys.sealing, 50_000)
  await look(await replica('second first'))
  expect(await left()).toBeLessThanOrEqual(50_000)
  await look(store())
  expect(await left()).toBeGreaterThan(50_000)
  const stranger = await replica('third')
  await redis.pexpire(keys.sealing, 30_000)
  await look(stranger)
  expect(await left()).toBeLessThanOrEqual(30_000)
  await redis.del(keys.sealing)
  expect(await accept(stranger, 'ada')).toBe('accepted')
  expect(await named()).toBe('third')
})

test('a key is named for no longer than its time when the clock of Redis stepped back', async () => {
  const { redis, keys } = store()
  await look(store())
  await redis.pexpire(keys.sealing, 3_600_000)
  await look(await replica('second first'))
  expect(await named()).toBe('first')
  expect(await redis.pttl(keys.sealing)).toBeLessThanOrEqual(sealing.keepMs)
})

test('a plan opens for the user and the operation that it was sealed for, and for no other', async () => {
  const { redis, keys } = store()
  const sealer = new Sealer([randomBytes(32)])
  const seal = (user: string, nonce: string) => sealer.seal(`plan of ${user}`, user, nonce)
  for (const [user, nonce] of [['ada', 'n1'] as const, ['grace', 'n2'] as const]) {
    await store().create(user, { nonce, sealPlan: () => seal(user, nonce) })
  }
  const open = async (user: string) => {
    const record = (await store().record(user))!
    return sealer.open(record.sealedPlan!, user, record.nonce)
  }
  expect(await open('ada')).toBe('plan of ada')
  const [ofAda, ofGrace] = [
    await redis.hget(keys.record('ada'), 'plan'),
    await redis.hget(keys.record('grace'), 'plan'),
  ]
  await redis.hset(keys.record('ada'), 'plan', ofGrace!)
  await redis.hset(keys.record('grace'), 'plan', ofAda!)
  for (const user of ['ada', 'grace']) await expect(open(user)).rejects.toThrow('does not open')
  // The same user's, of another operation.
  await redis.hset(keys.record('ada'), 'plan', seal('ada', 'n3'))
  await expect(open('ada')).rejects.toThrow('does not open')
})
