/** Urgent keys, and the time that they waited. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Samples } from './testing/samples.ts'
import type { Kind } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const subjects = () => JSON.stringify(samples.get('RoleBinding', 's-one')?.subjects ?? [])

describe('Reconciler with a turn under way', () => {
  test('ends it for a revocation, also where all replicas wait for the same answer', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(1_000)
    samples.leases.silent = true
    const hanging = Promise.withResolvers<void>()
    samples.api.onWrite = (_verb, { kind }) => (kind === 'Deployment' ? hanging.promise : undefined)
    samples.put('one', { members: ['ada', 'eve'], image: 'app:2' })
    await samples.pass(1_000)
    samples.put('one', { members: ['ada'], image: 'app:2' })
    await samples.pass(1_000)
    expect(subjects()).not.toContain('eve')
    samples.api.onWrite = () => {}
    hanging.resolve()
    await samples.pass(10_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('does not end it for its own events, or for edits that take nothing away', async () => {
    const { metrics } = samples.replica()
    samples.api.onWrite = () => samples.clock.sleep(50)
    samples.put('one')
    for (let i = 0; i < 20; i += 1) {
      await samples.pass(50)
      samples.put('one', { members: ['ada', `m${i}`].slice(0, 1), image: `app:${i}` })
    }
    await samples.pass(2_000)
    const { values } = await metrics.reconcileTurns.get()
    expect(values.filter(({ labels }) => labels.result === 'cut')).toEqual([])
    expect(samples.phase('one')).toBe('Ready')
  })
})

describe('Reconciler with very many keys', () => {
  test('lets the process do other things between looks at which nothing is to be done', async () => {
    let looks = 0
    const count = (kind: Kind<never>): Kind<never> => ({
      ...kind,
      desired: (...args) => {
        looks += 1
        return kind.desired(...args)
      },
    })
    const { reconciler } = samples.replica({ room: 16, change: count as never })
    for (let i = 0; i < 200; i += 1) samples.put(`s${i}`)
    await samples.pass(5_000)
    looks = 0
    reconciler.effectsLost()
    samples.clock.advance(20)
    await new Promise(resolve => setImmediate(resolve))
    expect(looks).toBeLessThan(100)
    await samples.pass(100)
    expect(looks).toBeGreaterThanOrEqual(200)
  })
})

test('Reconciler measures its reaction from the event on, although another replica had the lease', async () => {
  const { metrics } = samples.replica()
  samples.put('one')
  await samples.pass(500)
  metrics.reconcileReaction.reset()
  samples.leases.held.add('sample:n/one')
  samples.put('one', { image: 'app:2' })
  await samples.pass(300)
  samples.leases.held.delete('sample:n/one')
  await samples.pass(1_000)
  const { values } = await metrics.reconcileReaction.get()
  const sum = values.find(({ metricName, labels }) => /_sum$/.test(metricName ?? '') && labels.kind === 'sample')
  expect(sum?.value).toBeGreaterThanOrEqual(0.3)
})
