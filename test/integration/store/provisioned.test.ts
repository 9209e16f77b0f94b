/** Only the script that ends a user's creation records that the user was provisioned. */
import { expect, test } from 'vitest'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()

/** A creation whose pod has the init container, owned. */
async function provision(user: string) {
  await store().create(user, { provisions: true })
  return (await store().own(user)).by
}

test('a running lab records provisioning once and for ever, even after its deletion', async () => {
  const by = await provision('ada')
  expect(await store().labs.provisioned('ada')).toBe(false)
  for (let i = 0; i < 2; i++) await store().owners.finish(by, 1, [['complete', 'up']], 'running', {})
  expect(await store().labs.provisioned('ada')).toBe(true)
  expect(await store().labs.provisioned('grace')).toBe(false)
  expect(await store().redis.hget(store().keys.record('ada'), 'provisions')).toBeNull()
  await store().delete('ada')
  const { by: deleter } = await store().own('ada')
  await store().owners.finish(deleter, 1, [['complete', 'gone']], 'gone', {})
  expect(await store().labs.provisioned('ada')).toBe(true)
  expect(await store().redis.pttl(store().keys.provisioned)).toBe(-1)
})

test('a failed lab does not record provisioning, whatever happens later', async () => {
  const by = await provision('ada')
  await store().owners.finish(by, 1, [['failed', 'no']], 'failed', {})
  expect(await store().labs.provisioned('ada')).toBe(false)
  await store().run('ada')
  expect(await store().labs.provisioned('ada')).toBe(false)
})

test('a lab without the init container does not record provisioning', async () => {
  await store().run('ada')
  expect(await store().redis.exists(store().keys.provisioned)).toBe(0)
})

test('a creation that a deletion replaced does not record provisioning, nor does its former owner', async () => {
  const by = await provision('ada')
  await store().delete('ada')
  await expect(store().owners.finish(by, 1, [['complete', 'late']], 'running', {})).rejects.toThrow('moved on')
  await store().owners.release(by)
  const { by: deleter } = await store().own('ada')
  // A failed deletion leaves a record too, without provisioning in it.
  await store().owners.finish(deleter, 1, [['failed', 'stuck']], 'failed', {})
  expect(await store().labs.provisioned('ada')).toBe(false)
  expect(await store().redis.hget(store().keys.record('ada'), 'provisions')).toBeNull()
})

test('a lost record counts as none, and is written again', async () => {
  const end = async () => {
    const by = await provision('ada')
    await store().owners.finish(by, 1, [['complete', 'up']], 'running', {})
  }
  await end()
  await store().redis.flushall()
  await store().compare()
  expect(await store().labs.provisioned('ada')).toBe(false)
  await end()
  expect(await store().labs.provisioned('ada')).toBe(true)
})
