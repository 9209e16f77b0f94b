/** Which of several replicas does the work of a key, and what the others leave to it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Fenced, RetryLater } from '../base/errors.ts'
import { type AnyKind, holding, noting } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'
import type { Effect } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const service = { apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-one' }

/** The mark of the effect that replicas want. */
let mark: string
beforeEach(() => {
  mark = '1'
})

/** A replica with an effect. `written`: the marks that it has written. */
function withRoute() {
  const written: string[] = []
  const route = (): Effect => ({ name: 'route', mark, apply: async () => void written.push(mark) })
  return { written, ...samples.replica({ change: holding(() => ({ effects: [route()] })) as never }) }
}

/** Two replicas and a sample: the first has made its objects while the other one had to wait. */
async function holderAndOther() {
  samples.api.onWrite = () => samples.clock.sleep(50)
  const replicas = [withRoute(), withRoute()] as const
  samples.put('one', { members: ['ada', 'eve'] })
  await samples.pass(8_000)
  samples.api.onWrite = () => {}
  return replicas
}

const withoutMade = ({ sources }: AnyKind) => sources.map(source => ({ ...source, made: false }))

/**
 * A sample that one replica has begun, while it waits at another one, whose place the write of another sample has until `free`.
 * `end` lets the first one go on. `asked`: how often replicas have asked for its lease
 */
async function begunByOther(made = true) {
  const [zero, one] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  samples.api.onWrite = (verb, { name, kind }) => {
    if (name === 's-zero') return zero.promise
    return verb === 'create' && name === 's-one' && kind === 'Deployment' ? one.promise : undefined
  }
  const change = (kind: AnyKind): AnyKind => ({ ...kind, ...(!made && { sources: withoutMade(kind) }) })
  samples.replica({ room: 1, change: change as never })
  samples.put('zero')
  await samples.pass(100)
  const begun = samples.replica()
  const keys: string[] = []
  const { acquireTask } = samples.leases
  samples.leases.acquireTask = key => {
    keys.push(key)
    return acquireTask(key)
  }
  samples.put('one')
  await samples.pass(200)
  return { begun, free: zero.resolve, end: one.resolve, asked: () => keys.filter(key => key === 'sample:n/one').length }
}

/** An event that is not urgent, at all replicas. */
const touch = () => samples.api.put({ ...samples.get('Service', 's-one')! })

/** The time until this is so, in steps of 20 ms. */
async function msUntil(isSo: () => boolean): Promise<number> {
  const beginMs = samples.clock.monotonicMs()
  while (!isSo() && samples.clock.monotonicMs() < beginMs + 20_000) await samples.pass(20)
  return samples.clock.monotonicMs() - beginMs
}

describe('Reconciler beside others', () => {
  test('leaves what is not urgent to the replica that did the work of the key before', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica()
    samples.api.onWrite = () => samples.clock.sleep(50)
    samples.put('one')
    await samples.pass(3_000)
    const { asked } = samples.leases
    for (let i = 0; i < 3; i += 1) {
      samples.api.remove(service)
      await samples.pass(2_000)
    }
    expect([samples.leases.asked - asked, samples.names('Service')]).toEqual([3, ['s-one']])
  })

  test('does the work of a key after a second when the replica that did it before is gone, and then at once', async () => {
    const [holder] = await holderAndOther()
    await holder.reconciler.stop()
    samples.api.remove(service)
    const firstMs = await msUntil(() => samples.names('Service').length > 0)
    samples.api.remove(service)
    const nextMs = await msUntil(() => samples.names('Service').length > 0)
    expect([firstMs > 900, firstMs < 1_200, nextMs < 100]).toEqual([true, true, true])
  })

  test('does what is urgent at once, whoever did the work before', async () => {
    const [holder] = await holderAndOther()
    await holder.reconciler.stop()
    samples.put('one', { members: ['ada'] })
    const isGone = () => !JSON.stringify(samples.get('RoleBinding', 's-one')!.subjects).includes('eve')
    expect(await msUntil(isGone)).toBeLessThan(100)
  })

  test('does at once what it alone is asked for, whoever did the work before', async () => {
    const [holder, { reconciler, written }] = await holderAndOther()
    await holder.reconciler.stop()
    mark = '2'
    reconciler.poke('n/one')
    expect(await msUntil(() => written.includes('2'))).toBeLessThan(100)
  })

  test('leaves a key that it alone is asked for to nobody, also when another had its lease', async () => {
    let note = ''
    samples.api.onWrite = () => samples.clock.sleep(50)
    const [holder, { reconciler }] = [samples.replica(), samples.replica({ change: noting(() => note) as never })]
    samples.put('one')
    await samples.pass(2_000)
    await holder.reconciler.stop()
    await samples.pass(3_000)
    note = 'only here'
    samples.leases.held.add('sample:n/one')
    reconciler.poke('n/one')
    await samples.pass(60)
    samples.leases.held.clear()
    const isTold = () => JSON.stringify(samples.get('Sample', 'one')!.status).includes(note)
    expect(await msUntil(isTold)).toBeLessThan(800)
  })

  test('tells at once of a parent that gets no objects', async () => {
    samples.replica({ change: holding(() => ({ objects: [], standing: [] })) as never })
    samples.put('one')
    expect(await msUntil(() => samples.phase('one') !== undefined)).toBeLessThan(100)
  })

  test('leaves nothing to a holder that is gone while Redis is silent, but for the first time', async () => {
    const [holder] = await holderAndOther()
    await holder.reconciler.stop()
    samples.leases.silent = true
    const ms: number[] = []
    for (let i = 0; i < 2; i += 1) {
      samples.api.remove(service)
      ms.push(await msUntil(() => samples.names('Service').length > 0))
      await samples.pass(5_000)
    }
    expect([ms[0]! > 900, ms[1]! < 400]).toEqual([true, true])
  })

  test('does at once what comes first when all stands since before it began', async () => {
    const holder = samples.replica()
    samples.put('one')
    await samples.pass(1_000)
    await holder.reconciler.stop()
    samples.replica()
    await samples.pass(1_000)
    touch()
    await samples.pass(100)
    samples.api.remove(service)
    expect(await msUntil(() => samples.names('Service').length > 0)).toBeLessThan(100)
  })

  test.each([
    ['leaves a key that waits to the replica whose objects come', true, [1, 1]],
    ['leaves no key for objects that others may make too', false, [1, 2]],
  ])('%s', async (_title, made, times) => {
    const { asked, free, end } = await begunByOther(made)
    const before = asked()
    free()
    await samples.pass(300)
    expect([before, asked()]).toEqual(times)
    end()
  })

  test('does the rest of a key that waited after a second when the replica whose objects came is gone', async () => {
    const { begun, free, end } = await begunByOther()
    samples.api.onWrite = () => {}
    free()
    void begun.reconciler.stop()
    samples.leases.held.clear()
    const ms = await msUntil(() => samples.phase('one') === 'Ready')
    end()
    expect([ms > 500, ms < 1_200]).toEqual([true, true])
  })

  test.each([
    ['of nobody', []],
    ['of another’s parent', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }]],
  ])('leaves nothing to a stranger whose object comes, and is %s', async (_whose, ownerReferences) => {
    const { free, end } = await begunByOther()
    samples.put('two')
    const metadata = { name: 's-two', namespace: 'n', ownerReferences }
    samples.api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} })
    samples.leases.held.clear()
    free()
    const ms = await msUntil(() => samples.get('Sample', 'two')!.status !== undefined)
    end()
    expect(ms).toBeLessThan(500)
  })

  test('does a key soon when the replica that has begun it dies with its lease, however much is new', async () => {
    const { begun, free, end } = await begunByOther()
    samples.api.onWrite = () => samples.clock.sleep(20)
    for (let i = 0; i < 300; i += 1) samples.put(`new-${i}`)
    free()
    void begun.reconciler.stop()
    await samples.pass(3_000)
    samples.leases.held.clear()
    const ms = await msUntil(() => samples.phase('one') === 'Ready')
    const count = samples.names('Service').length
    end()
    samples.api.onWrite = () => {}
    await samples.pass(3_000)
    expect([ms < 2_500, count < 250]).toEqual([true, true])
  })

  test('does a key soon after it was left to others, however much is new', async () => {
    samples.replica({ room: 8 })
    samples.api.onWrite = () => samples.clock.sleep(20)
    for (let i = 0; i < 20; i += 1) samples.put(`old-${i}`)
    const { metadata } = samples.put('left')
    for (let i = 0; i < 300; i += 1) samples.put(`new-${i}`)
    await samples.pass(50)
    const owner = { apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', name: 'left', uid: metadata.uid! }
    const made = { name: 's-left', namespace: 'n', ownerReferences: [owner] }
    samples.api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: made, data: {} } as never)
    const ms = await msUntil(() => samples.phase('left') !== undefined)
    const count = samples.names('Service').length
    samples.api.onWrite = () => {}
    await samples.pass(2_000)
    expect([ms > 900, ms < 1_700, count < 200]).toEqual([true, true, true])
  })

  test('is left nothing by itself while Redis is silent', async () => {
    samples.leases.silent = true
    const { sights } = samples.replica()
    samples.api.stall(sights.services)
    samples.put('one')
    await samples.pass(5_000)
    samples.api.catchUp(sights.services)
    await samples.pass(2_000)
    samples.api.remove(service)
    expect(await msUntil(() => samples.names('Service').length > 0)).toBeLessThan(500)
  })

  test('tells at once of a stranger’s object when nobody has done the work before', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica()
    samples.api.put({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 's-one', namespace: 'n' } })
    samples.put('one')
    expect(await msUntil(() => samples.phase('one') === 'Conflict')).toBeLessThan(100)
  })

  test('goes on as holder when a turn finds nothing to write', async () => {
    const [{ written }] = await holderAndOther()
    const restored = { ...samples.get('Service', 's-one')! }
    samples.api.remove(service)
    // A person is quicker.
    await samples.pass(10)
    samples.api.put(restored)
    await samples.pass(500)
    mark = '2'
    touch()
    expect(await msUntil(() => written.includes('2'))).toBeLessThan(100)
  })

  test('asks for the lease of another less and less often', async () => {
    samples.replica()
    samples.leases.held.add('sample:n/one')
    samples.put('one')
    await samples.pass(20_000)
    expect([samples.leases.asked >= 12, samples.leases.asked <= 20]).toEqual([true, true])
    samples.leases.held.clear()
    expect(await msUntil(() => samples.phase('one') === 'Ready')).toBeLessThan(2_200)
  })

  test('begins with keys in another order than they came in', async () => {
    samples.api.onWrite = () => samples.clock.sleep(10)
    samples.replica()
    const names = Array.from({ length: 60 }, (_, i) => `s${i}`)
    for (const name of names) samples.put(name)
    await samples.pass(10_000)
    const begun = samples.written().filter(write => write.startsWith('create Service'))
    expect(begun).toHaveLength(60)
    expect(begun).not.toEqual(names.map(name => `create Service s-${name}`))
  })

  test('waits longer and longer when what it does for a parent that is gone fails after it left work to others', async () => {
    let calls = 0
    const onGone = async () => {
      calls += 1
      throw new RetryLater('later')
    }
    const [holder, other] = [samples.replica(), samples.replica({ change: kind => ({ ...kind, onGone }) })]
    for (const sight of Object.values(other.sights)) samples.api.stall(sight)
    samples.put('one')
    await samples.pass(1_000)
    await holder.reconciler.stop()
    for (const sight of Object.values(other.sights)) samples.api.catchUp(sight)
    touch()
    await samples.pass(100)
    samples.api.remove({ apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', namespace: 'n', name: 'one' })
    await samples.pass(60_000)
    expect([calls >= 3, calls < 12]).toEqual([true, true])
  })
})

describe('Reconciler and effects alone', () => {
  test('takes no lease for them', async () => {
    const { written, reconciler } = withRoute()
    samples.put('one')
    await samples.pass(1_000)
    const { asked } = samples.leases
    mark = '2'
    reconciler.poke('n/one')
    await samples.pass(100)
    expect([written, samples.leases.asked - asked]).toEqual([['1', '2'], 0])
  })

  test('leaves them to the replica that does the work of the key, for a second', async () => {
    const [holder, other] = await holderAndOther()
    for (const next of ['2', '3', '4']) {
      mark = next
      touch()
      await samples.pass(250)
    }
    expect([holder.written.slice(-3), other.written.includes('2')]).toEqual([['2', '3', '4'], false])
    expect(await msUntil(() => other.written.includes('4'))).toBeLessThan(600)
  })

  test('writes them at each replica when Redis has lost them', async () => {
    const replicas = await holderAndOther()
    const before = replicas.map(({ written }) => written.length)
    for (const { reconciler } of replicas) reconciler.effectsLost()
    await samples.pass(100)
    expect(replicas.map(({ written }, i) => written.length - before[i]!)).toEqual([1, 1])
  })

  test('corrects at once what it has just written by a watch that was behind', async () => {
    const [, { written, reconciler }] = await holderAndOther()
    mark = 'old'
    reconciler.poke('n/one')
    await samples.pass(500)
    mark = 'new'
    touch()
    expect([written.at(-1), await msUntil(() => written.includes('new'))]).toEqual(['old', expect.any(Number)])
    mark = 'newer'
    touch()
    expect(await msUntil(() => written.includes('newer'))).toBeLessThan(100)
  })

  test('writes no object without a lease, but takes it then in the same turn', async () => {
    let isMissing = false
    const route = (): Effect => ({
      ...{ name: 'route', mark },
      apply: async () => {
        if (mark === '2' && !isMissing) samples.api.remove(service)
        isMissing = mark === '2'
      },
    })
    const { reconciler } = samples.replica({ change: holding(() => ({ effects: [route()] })) as never })
    samples.put('one')
    await samples.pass(1_000)
    const { asked } = samples.leases
    samples.leases.held.add('sample:n/one')
    samples.written()
    mark = '2'
    reconciler.poke('n/one')
    await samples.pass(5_000)
    expect([isMissing, samples.leases.asked > asked, samples.written()]).toEqual([true, true, []])
    samples.leases.held.clear()
    expect(await msUntil(() => samples.names('Service').length > 0)).toBeLessThan(2_200)
  })

  test('writes no object without a lease when an effect was fenced, and more is missing then', async () => {
    let fenced = 0
    const route = (): Effect => ({
      ...{ name: 'route', mark },
      apply: async () => {
        if (mark === '1' || fenced > 0) return
        fenced += 1
        samples.api.remove(service)
        throw new Fenced('a newer generation is known')
      },
    })
    const { reconciler } = samples.replica({ change: holding(() => ({ effects: [route()] })) as never })
    samples.put('one')
    await samples.pass(1_000)
    samples.leases.held.add('sample:n/one')
    samples.written()
    mark = '2'
    reconciler.poke('n/one')
    await samples.pass(3_000)
    expect([fenced, samples.written()]).toEqual([1, []])
  })

  test('says at all keys that they wait for Redis, and delays nothing else, when it falls silent', async () => {
    const back = Promise.withResolvers<void>()
    const route = (): Effect => ({ name: 'route', mark, apply: async () => samples.leases.late })
    samples.replica({ change: holding(() => ({ effects: [route()] })) as never })
    const names = Array.from({ length: 10 }, (_, i) => `s${i}`)
    for (const name of names) samples.put(name)
    await samples.pass(2_000)
    samples.leases.late = back.promise
    mark = '2'
    for (const name of names) samples.api.put({ ...samples.get('Service', `s-${name}`)! })
    const waits = (name: string) => JSON.stringify(samples.get('Sample', name)!.status).includes('waits for Redis')
    expect(await msUntil(() => names.every(waits))).toBeLessThan(12_000)
    samples.put('new')
    expect(await msUntil(() => samples.names('Deployment').includes('s-new'))).toBeLessThan(12_000)
    samples.leases.late = undefined
    back.resolve()
    await samples.pass(100)
  })

  test('leaves revocations to a turn of their own', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const revoked: string[] = []
    const route = (): Effect => ({
      name: 'route',
      mark,
      apply: async () => {
        if (mark !== '2') return
        await promise
      },
    })
    const { reconciler } = samples.replica({ change: holding(() => ({ effects: [route()] })) as never })
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(1_000)
    samples.api.onWrite = (_verb, { kind }) => {
      if (kind === 'RoleBinding') revoked.push([...samples.leases.held].join())
    }
    mark = '2'
    reconciler.poke('n/one')
    await samples.pass(100)
    samples.put('one', { members: ['ada'] })
    await samples.pass(20)
    resolve()
    await samples.pass(500)
    expect(revoked[0]).toBe('sample:n/one')
  })
})
