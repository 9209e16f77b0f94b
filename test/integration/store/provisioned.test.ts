/** That a user was provisioned is remembered by the script that ends their creation, and by no other. */
import { expect, test } from 'vitest'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()

/** A creation whose pod has the init container, owned. */
async function provision(user: string) {
  await store().create(user, { provisions: true })
  return (await store().own(user)).by
}

test('by a lab that is up, once and for ever, also after its deletion', async () => {
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

test('not by one that failed, whatever came of it later', async () => {
  const by = await provision('ada')
  await store().owners.finish(by, 1, [['failed', 'no']], 'failed', {})
  expect(await store().labs.provisioned('ada')).toBe(false)
  await store().run('ada')
  expect(await store().labs.provisioned('ada')).toBe(false)
})

test('not by one without the init container', async () => {
  await store().run('ada')
  expect(await store().redis.exists(store().keys.provisioned)).toBe(0)
})

test('not by one that a deletion took the place of, nor by who owned it', async () => {
  const by = await provision('ada')
  await store().delete('ada')
  await expect(store().owners.finish(by, 1, [['complete', 'late']], 'running', {})).rejects.toThrow('moved on')
  await store().owners.release(by)
  const { by: deleter } = await store().own('ada')
  // A deletion that fails leaves a record too, and no word of provisioning in it.
  await store().owners.finish(deleter, 1, [['failed', 'stuck']], 'failed', {})
  expect(await store().labs.provisioned('ada')).toBe(false)
  expect(await store().redis.hget(store().keys.record('ada'), 'provisions')).toBeNull()
})

test('a lost record is one of nobody: it is made again', async () => {
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
