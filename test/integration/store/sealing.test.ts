/** What is accepted can be opened by whoever may own it, and by nobody else. */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { Sealer } from '../../../src/store/sealing.ts'
import { creation, Store, sealing, ttlMs, useStore } from './store.ts'

const store = useStore()

/** Another replica of the same installation, with keys of its own. */
async function replica(ids: string): Promise<Store> {
  const { server, prefix } = store()
  const other = await Store.open(server, prefix, server.programUrl, { ...sealing, ids })
  onTestFinished(() => other.close())
  return other
}

const accept = async ({ labs }: Store, user: string) => (await labs.acceptCreate(creation(user))).answer

test('who lacks the key that the others seal with accepts nothing and owns nothing', async () => {
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

test('a key is rotated by who has both, and from then on is needed', async () => {
  await store().create('ada')
  const [next, last] = [await replica('third first'), await replica('third')]
  expect(await accept(last, 'grace')).toBe('sealed')
  expect(await accept(next, 'grace')).toBe('accepted')
  expect(await accept(last, 'edsger')).toBe('accepted')
  expect((await last.owners.look(10, true))?.waiting).toHaveLength(3)
  expect(await accept(store(), 'barbara')).toBe('sealed')
  expect(await store().owners.look(10, true)).toBeNull()
})

test('replicas that differ only in which of their keys seals hinder nobody', async () => {
  const other = await replica('second first')
  for (const [i, each] of [store(), other, other, store(), other].entries()) {
    expect(await accept(each, `u${i}`)).toBe('accepted')
    for (const any of [store(), other]) expect(await any.owners.look(10, true)).not.toBeNull()
  }
})

test('a key is remembered for as long as somebody has it, and no longer', async () => {
  const { redis, keys, owners } = store()
  const left = () => redis.pttl(keys.sealing)
  await owners.look(10, true)
  expect(await redis.get(keys.sealing)).toBe('first')
  await redis.pexpire(keys.sealing, 1000)
  await owners.look(10, false)
  expect(await left()).toBeGreaterThan(1000)
  const stranger = await replica('third')
  await redis.pexpire(keys.sealing, 5000)
  await stranger.owners.look(10, true)
  expect(await left()).toBeLessThanOrEqual(5000)
  await redis.del(keys.sealing)
  expect(await accept(stranger, 'ada')).toBe('accepted')
  expect(await redis.get(keys.sealing)).toBe('third')
})

test('a plan opens for the user and the operation that it was sealed for, and for no other', async () => {
  const { redis, keys } = store()
  const sealer = new Sealer([randomBytes(32)])
  const seal = (user: string, nonce: string) => sealer.seal(`plan of ${user}`, user, nonce)
  for (const [user, nonce] of [['ada', 'n1'] as const, ['grace', 'n2'] as const]) {
    await store().create(user, { nonce, sealedPlan: seal(user, nonce) })
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
