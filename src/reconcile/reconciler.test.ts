import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Samples } from './testing/samples.ts'
import type { Kind } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const ref = (kind: string, name: string, apiVersion = 'v1') => ({ apiVersion, kind, namespace: 'n', name })

describe('Reconciler', () => {
  test('makes the objects of a new parent by stages, and then its status', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    expect(samples.written().filter(write => !write.includes('ConfigMap'))).toEqual([
      'create Service s-one',
      'create Deployment s-one',
      'create RoleBinding s-one',
      'status Sample one',
    ])
    expect([samples.phase('one'), samples.names('ConfigMap')]).toEqual(['Ready', ['colour-red']])
    expect(samples.log.messages).toEqual([])
  })

  test('writes nothing and asks for no lease at rest', async () => {
    const { reconciler } = samples.replica()
    samples.put('one')
    await samples.pass(500)
    samples.written()
    const { asked } = samples.leases
    reconciler.poke('n/one', true)
    await samples.pass(60_000)
    expect([samples.written(), samples.leases.asked - asked]).toEqual([[], 0])
  })

  test('shares the work among replicas: nothing is written twice', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica()
    for (let i = 0; i < 20; i += 1) samples.put(`s${i}`)
    await samples.pass(5_000)
    const writes = samples.written().filter(write => write.startsWith('create '))
    expect(new Set(writes).size).toBe(writes.length)
    expect(samples.names('RoleBinding')).toHaveLength(20)
  })

  test('takes rights away before anything else, and passes a queue of creations', async () => {
    samples.replica({ room: 2 })
    samples.put('old', { members: ['ada', 'eve'] })
    await samples.pass(500)
    samples.api.onWrite = () => samples.clock.sleep(10)
    for (let i = 0; i < 100; i += 1) samples.put(`s${i}`)
    await samples.pass(30)
    samples.written()
    samples.put('old', { members: ['ada', 'bob'], image: 'app:2' })
    await samples.pass(500)
    const writes = samples.written()
    const revoked = writes.indexOf('patch RoleBinding s-old')
    expect(revoked).toBeLessThan(20)
    expect(revoked).toBeLessThan(writes.indexOf('patch Deployment s-old'))
    expect(writes.lastIndexOf('patch RoleBinding s-old')).toBeGreaterThan(writes.indexOf('patch Deployment s-old'))
    samples.api.onWrite = () => {}
    await samples.pass(100)
  })

  test('corrects what others change, make or remove', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    const service = samples.get('Service', 's-one')!
    samples.api.put({ ...service, spec: { ...(service.spec as object), selector: { app: 'other' } } })
    samples.api.remove(ref('Deployment', 's-one', 'apps/v1'))
    await samples.pass(500)
    expect(samples.get('Service', 's-one')!.spec).toMatchObject({ selector: { app: 's-one' } })
    expect(samples.names('Deployment')).toEqual(['s-one'])
  })

  test('never adopts an object, and gives no right beside it', async () => {
    samples.replica()
    const foreign = samples.api.put({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 's-one', namespace: 'n' },
    })
    samples.put('one')
    await samples.pass(500)
    expect(samples.get('Deployment', 's-one')).toBe(foreign)
    expect([samples.phase('one'), samples.names('RoleBinding')]).toEqual(['Conflict', []])
    samples.api.remove(ref('Deployment', 's-one', 'apps/v1'))
    await samples.pass(500)
    expect([samples.phase('one'), samples.names('RoleBinding')]).toEqual(['Ready', ['s-one']])
  })

  test('takes its own object for its own when the answer to its creation was lost', async () => {
    samples.replica()
    samples.api.live = false
    samples.put('one')
    samples.api.show()
    let lost = 0
    samples.api.onWrite = (verb, { kind }, body) => {
      if (verb !== 'create' || kind !== 'Service' || lost > 0) return
      lost += 1
      samples.api.put(body as never)
    }
    await samples.pass(500)
    expect([lost, samples.names('RoleBinding')]).toEqual([1, ['s-one']])
  })

  test('reads again what has changed under its hands', async () => {
    const { sights } = samples.replica()
    samples.put('one')
    await samples.pass(500)
    samples.api.stall(sights.deployments)
    const { metadata, ...deployment } = samples.get('Deployment', 's-one')!
    samples.api.put({ ...deployment, metadata: { ...metadata, labels: { theirs: 'x' } } })
    samples.put('one', { image: 'app:2' })
    await samples.pass(500)
    const after = samples.get('Deployment', 's-one')!
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
          if (change.name === 'bad') throw new Error('a defect')
          return source.keysOf(change)
        },
      })),
    })
    samples.replica({ change: broken as never, resyncMs: 10_000 })
    samples.put('bad')
    samples.put('one')
    await samples.pass(1_000)
    expect(samples.phase('one')).toBeUndefined()
    isBroken = false
    await samples.pass(2 * 12_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('removes what a former parent of the name has left', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    const { uid } = samples.get('RoleBinding', 's-one')!.metadata
    samples.api.remove(ref('Sample', 'one', 'sample.skylab.dev/v1'))
    await samples.pass(100)
    samples.put('one', { members: ['bob'] })
    await samples.pass(1000)
    expect(samples.get('RoleBinding', 's-one')!.metadata.uid).not.toBe(uid)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('counts all parents as owners of a shared object, and removes it after the last', async () => {
    samples.replica()
    samples.put('one')
    samples.put('two')
    await samples.pass(500)
    const owners = () => samples.get('ConfigMap', 'colour-red')?.metadata.ownerReferences?.map(({ name }) => name)
    expect(owners()?.toSorted()).toEqual(['one', 'two'])
    samples.put('one', { colour: 'blue' })
    await samples.pass(500)
    expect(owners()).toEqual(['two'])
    samples.put('two', { colour: 'blue' })
    await samples.pass(500)
    expect(samples.names('ConfigMap')).toEqual(['colour-blue'])
  })
})
