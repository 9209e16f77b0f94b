/** The tables that gateways follow: nothing older undoes an entry, and a table without its mark is not an empty one. */
import { expect, test } from 'vitest'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { pairs } from '../../../src/store/fields.ts'
import { members, route } from '../../kit/apps/routes.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const routes = () => new RouteStore(store().connection, store().keys)
const groups = () => new MemberStore(store().connection, store().keys)

async function rings(): Promise<string[]> {
  const entries = await store().redis.xrange(store().keys.apps.bell, '-', '+')
  return entries.map(([, flat]) => `${pairs(flat).get('what')} ${pairs(flat).get('subject') ?? 'all'}`)
}

test('put writes a route and rings when it has changed', async () => {
  expect(await routes().put(route())).toBe('written')
  expect(await routes().put(route())).toBe('same')
  expect(await routes().put({ ...route({ phase: 'Stopped' }), address: undefined })).toBe('written')
  expect(await rings()).toEqual(['routes app:mlflow', 'routes app:mlflow'])
  expect(await routes().readOne('mlflow')).toMatchObject({ phase: 'Stopped', uid: 'u1' })
  expect(await store().rings()).toBe(1)
})

test('put says `same` when a route has other order of fields', async () => {
  await routes().put(route())
  const turned = Object.fromEntries(Object.entries(route()).reverse()) as unknown as ReturnType<typeof route>
  expect(await routes().put(turned)).toBe('same')
})

test('put is refused when the generation of the same app is lower', async () => {
  await routes().put(route({ generation: 3 }))
  expect(await routes().put(route({ generation: 2, phase: 'Error' }))).toBe('older')
  expect(await routes().put(route({ generation: 3, phase: 'Stopping' }))).toBe('written')
  expect((await routes().readOne('mlflow'))?.phase).toBe('Stopping')
})

test('put keeps the route of the older app when two have one id', async () => {
  await routes().put(route({ uid: 'u2', createdMs: 2_000, generation: 9 }))
  expect(await routes().put(route({ uid: 'u3', createdMs: 3_000, generation: 99 }))).toBe('older')
  expect(await routes().put(route({ uid: 'u1', createdMs: 1_000, generation: 1 }))).toBe('written')
  expect(await routes().put(route({ uid: 'u0', createdMs: 1_000 }))).toBe('written')
  expect(await routes().put(route({ uid: 'u1', createdMs: 1_000 }))).toBe('older')
  expect((await routes().readOne('mlflow'))?.uid).toBe('u0')
})

test('put is accepted when the app was removed while it lives', async () => {
  await routes().put(route({ uid: 'u1' }))
  expect(await routes().remove('mlflow', 'u1', true)).toBe(true)
  await expect.poll(() => routes().put(route({ uid: 'u1' }))).toBe('written')
})

test('put is refused when the app was removed, and the next one of its id gets the route', async () => {
  await routes().put(route())
  expect(await routes().put(route({ uid: 'u2', createdMs: 2_000 }))).toBe('older')
  expect(await routes().remove('mlflow', 'u2')).toBe(false)
  expect(await routes().remove('mlflow', 'u1')).toBe(true)
  expect(await routes().remove('mlflow', 'u1')).toBe(false)
  expect(await routes().put(route({ generation: 9 }))).toBe('older')
  expect(await routes().put(route({ uid: 'u4', createdMs: 4_000 }))).toBe('written')
  expect(await rings()).toEqual(Array(3).fill('routes app:mlflow'))
  expect(await store().redis.pttl(store().keys.apps.removed('u1'))).toBeGreaterThan(3_500_000)
})

test('put overwrites an entry that cannot be read, and remove removes one', async () => {
  const { redis, keys } = store()
  for (const text of ['{', '[]', 'null', '{"uid":1}', '{"uid":"u9","generation":"9","createdMs":1}', '']) {
    await redis.hset(keys.apps.routes, 'mlflow', text)
    expect(await routes().put(route())).toBe('written')
  }
  await redis.hset(keys.apps.routes, 'mlflow', '{')
  expect(await routes().remove('mlflow', 'u9')).toBe(true)
})

test('put refuses what no reader would take', async () => {
  await expect(routes().put(route({ id: 'a/b' }))).rejects.toThrow()
  await expect(routes().put(route({ id: ':complete' }))).rejects.toThrow()
  await expect(routes().put(route({ message: 'x'.repeat(1_001) }))).rejects.toThrow()
  await expect(groups().put(':complete', members([]))).rejects.toThrow('not the name of an entry')
})

test('complete marks a table once, and rings for all', async () => {
  await routes().put(route())
  expect(await routes().read()).toMatchObject({ complete: false, broken: new Set() })
  await routes().complete()
  await routes().complete()
  const { complete, routes: all } = await routes().read()
  expect(complete).toBe(true)
  expect([...all]).toEqual([['mlflow', route()]])
  expect(await rings()).toEqual(['routes app:mlflow', 'routes all'])
})

test('version is another one when the table has changed, or was lost and made again', async () => {
  const versions = [await routes().table.version()]
  const note = async () => versions.push(await routes().table.version())
  await routes().put(route())
  await note()
  await routes().complete()
  await note()
  expect((await routes().read()).version).toBe(versions.at(-1))
  await routes().remove('mlflow', 'u1')
  await note()
  await store().redis.del(store().keys.apps.routes)
  await routes().complete()
  await note()
  await routes().put(route({ uid: 'u2' }))
  await routes().put(route({ uid: 'u2', generation: 2 }))
  await note()
  expect(new Set(versions).size).toBe(versions.length)
  await routes().put(route({ uid: 'u2', generation: 1 }))
  expect(await routes().table.version()).toBe(versions.at(-1))
})

test('read leaves out what it cannot read, and counts it', async () => {
  const { redis, keys } = store()
  await routes().put(route())
  const good = JSON.stringify(route({ id: 'other' }))
  const bad = {
    a: '{',
    b: good,
    other: good.replace('10.0.0.1', 'metadata.internal'),
    port: JSON.stringify(route({ id: 'port', address: { ip: '10.0.0.1', port: 0 } })),
    more: good.replace('{', '{"id2":1,').replace('"other"', '"more"'),
    'a/b': good.replace('"other"', '"a/b"'),
    big: good.replace('"other"', '"big"').replace('"message":""', `"message":"${'x'.repeat(2_000)}"`),
  }
  await redis.hset(keys.apps.routes, bad)
  const { routes: read, broken } = await routes().read()
  expect([...read.keys()]).toEqual(['mlflow'])
  expect(broken).toEqual(new Set(Object.keys(bad)))
  expect(await routes().table.readSome(['mlflow', 'other', 'none', ':changes'])).toMatchObject({
    broken: new Set(['other']),
  })
  expect(await routes().readOne('other')).toBeUndefined()
})

test('put keeps the members of the newer LNamespace when two have one name', async () => {
  await groups().put('physics', members(['ada'], { uid: 'g2', createdMs: 2_000 }))
  expect(await groups().put('physics', members(['eve'], { uid: 'g1', generation: 9 }))).toBe('older')
  expect(await groups().put('physics', members(['bob'], { uid: 'g3', createdMs: 3_000 }))).toBe('written')
  expect(await groups().put('physics', members([], { uid: 'g3', createdMs: 3_000 }))).toBe('written')
  await groups().complete()
  const { members: all, complete } = await groups().read()
  expect(complete).toBe(true)
  expect([...all]).toEqual([['physics', members([], { uid: 'g3', createdMs: 3_000 })]])
  expect(await groups().remove('physics', 'g3')).toBe(true)
  expect((await groups().read()).members.size).toBe(0)
  expect(await rings()).toEqual([...Array(3).fill('members group:physics'), 'members all', 'members group:physics'])
})
