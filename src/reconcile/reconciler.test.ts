import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Toys } from './testing/toys.ts'
import type { Kind } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const ref = (kind: string, name: string, apiVersion = 'v1') => ({ apiVersion, kind, namespace: 'n', name })

describe('Reconciler', () => {
  test('makes the objects of a new parent by stages, and then its status', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    expect(toys.written().filter(write => !write.includes('ConfigMap'))).toEqual([
      'create Service g-one',
      'create Deployment g-one',
      'create RoleBinding g-one',
      'status Gadget one',
    ])
    expect([toys.phase('one'), toys.names('ConfigMap')]).toEqual(['Ready', ['colour-red']])
    expect(toys.log.messages).toEqual([])
  })

  test('writes nothing and asks for no lease at rest', async () => {
    const { gadgets } = toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.written()
    const { asked } = toys.leases
    gadgets.poke('n/one', true)
    await toys.pass(60_000)
    expect([toys.written(), toys.leases.asked - asked]).toEqual([[], 0])
  })

  test('shares the work among replicas: nothing is written twice', async () => {
    for (let i = 0; i < 3; i += 1) toys.replica()
    for (let i = 0; i < 20; i += 1) toys.put(`g${i}`)
    await toys.pass(5_000)
    const writes = toys.written().filter(write => write.startsWith('create '))
    expect(new Set(writes).size).toBe(writes.length)
    expect(toys.names('RoleBinding')).toHaveLength(20)
  })

  test('takes rights away before anything else, and passes a queue of creations', async () => {
    toys.replica({ room: 2 })
    toys.put('old', { members: ['ada', 'eve'] })
    await toys.pass(500)
    toys.api.onWrite = () => toys.clock.sleep(10)
    for (let i = 0; i < 100; i += 1) toys.put(`g${i}`)
    await toys.pass(30)
    toys.written()
    toys.put('old', { members: ['ada', 'bob'], image: 'app:2' })
    await toys.pass(500)
    const writes = toys.written()
    const revoked = writes.indexOf('patch RoleBinding g-old')
    expect(revoked).toBeLessThan(20)
    expect(revoked).toBeLessThan(writes.indexOf('patch Deployment g-old'))
    expect(writes.lastIndexOf('patch RoleBinding g-old')).toBeGreaterThan(writes.indexOf('patch Deployment g-old'))
    toys.api.onWrite = () => {}
    await toys.pass(100)
  })

  test('corrects what others change, make or remove', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const service = toys.get('Service', 'g-one')!
    toys.api.put({ ...service, spec: { ...(service.spec as object), selector: { app: 'other' } } })
    toys.api.remove(ref('Deployment', 'g-one', 'apps/v1'))
    await toys.pass(500)
    expect(toys.get('Service', 'g-one')!.spec).toMatchObject({ selector: { app: 'g-one' } })
    expect(toys.names('Deployment')).toEqual(['g-one'])
  })

  test('never adopts an object, and gives no right beside it', async () => {
    toys.replica()
    const foreign = toys.api.put({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'g-one', namespace: 'n' },
    })
    toys.put('one')
    await toys.pass(500)
    expect(toys.get('Deployment', 'g-one')).toBe(foreign)
    expect([toys.phase('one'), toys.names('RoleBinding')]).toEqual(['Conflict', []])
    toys.api.remove(ref('Deployment', 'g-one', 'apps/v1'))
    await toys.pass(500)
    expect([toys.phase('one'), toys.names('RoleBinding')]).toEqual(['Ready', ['g-one']])
  })

  test('takes its own object for its own when the answer to its creation was lost', async () => {
    toys.replica()
    toys.api.live = false
    toys.put('one')
    toys.api.show()
    let lost = 0
    toys.api.onWrite = (verb, { kind }, body) => {
      if (verb !== 'create' || kind !== 'Service' || lost > 0) return
      lost += 1
      toys.api.put(body as never)
    }
    await toys.pass(500)
    expect([lost, toys.names('RoleBinding')]).toEqual([1, ['g-one']])
  })

  test('reads again what has changed under its hands', async () => {
    const { sights } = toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.api.stall(sights.deployments)
    const { metadata, ...deployment } = toys.get('Deployment', 'g-one')!
    toys.api.put({ ...deployment, metadata: { ...metadata, labels: { theirs: 'x' } } })
    toys.put('one', { image: 'app:2' })
    await toys.pass(500)
    const after = toys.get('Deployment', 'g-one')!
    expect([JSON.stringify(after.spec).includes('app:2'), after.metadata.labels]).toEqual([true, { theirs: 'x' }])
  })

  test('looks now and then at what an object names whose event was lost by a defect', async () => {
    let isBroken = true
    const broken = (kind: Kind<never>): Kind<never> => ({
      ...kind,
      sources: kind.sources.map(source => ({
        ...source,
        keysOf: change => {
          if (isBroken) return []
          return source.keysOf(change)
        },
      })),
    })
    toys.replica({ change: broken as never, resyncMs: 10_000 })
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.phase('one')).toBeUndefined()
    isBroken = false
    await toys.pass(11_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('removes what a former parent of the name has left', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const { uid } = toys.get('RoleBinding', 'g-one')!.metadata
    toys.api.remove(ref('Gadget', 'one', 'toy.skylab.dev/v1'))
    await toys.pass(100)
    toys.put('one', { members: ['bob'] })
    await toys.pass(1000)
    expect(toys.get('RoleBinding', 'g-one')!.metadata.uid).not.toBe(uid)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('counts all parents as owners of a shared object, and removes it after the last', async () => {
    toys.replica()
    toys.put('one')
    toys.put('two')
    await toys.pass(500)
    const owners = () => toys.get('ConfigMap', 'colour-red')?.metadata.ownerReferences?.map(({ name }) => name)
    expect(owners()?.toSorted()).toEqual(['one', 'two'])
    toys.put('one', { colour: 'blue' })
    await toys.pass(500)
    expect(owners()).toEqual(['two'])
    toys.put('two', { colour: 'blue' })
    await toys.pass(500)
    expect(toys.names('ConfigMap')).toEqual(['colour-blue'])
  })
})
