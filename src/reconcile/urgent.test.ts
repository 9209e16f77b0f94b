/** What may not wait, and how long it did. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Toys } from './testing/toys.ts'
import type { Kind } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const subjects = () => JSON.stringify(toys.get('RoleBinding', 'g-one')?.subjects ?? [])

describe('Reconciler with a turn under way', () => {
  test('ends it for a revocation, also where all replicas wait for the same answer', async () => {
    for (let i = 0; i < 3; i += 1) toys.replica()
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(1_000)
    toys.leases.silent = true
    const hanging = Promise.withResolvers<void>()
    toys.api.onWrite = (_verb, { kind }) => (kind === 'Deployment' ? hanging.promise : undefined)
    toys.put('one', { members: ['ada', 'eve'], image: 'app:2' })
    await toys.pass(1_000)
    toys.put('one', { members: ['ada'], image: 'app:2' })
    await toys.pass(1_000)
    expect(subjects()).not.toContain('eve')
    toys.api.onWrite = () => {}
    hanging.resolve()
    await toys.pass(10_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('does not end it for its own events, or for edits that take nothing away', async () => {
    const { metrics } = toys.replica()
    toys.api.onWrite = () => toys.clock.sleep(50)
    toys.put('one')
    for (let i = 0; i < 20; i += 1) {
      await toys.pass(50)
      toys.put('one', { members: ['ada', `m${i}`].slice(0, 1), image: `app:${i}` })
    }
    await toys.pass(2_000)
    const { values } = await metrics.reconcileTurns.get()
    expect(values.filter(({ labels }) => labels.result === 'cut')).toEqual([])
    expect(toys.phase('one')).toBe('Ready')
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
    const { gadgets } = toys.replica({ room: 16, change: count as never })
    for (let i = 0; i < 200; i += 1) toys.put(`g${i}`)
    await toys.pass(5_000)
    looks = 0
    gadgets.effectsLost()
    toys.clock.advance(20)
    await new Promise(resolve => setImmediate(resolve))
    expect(looks).toBeLessThan(100)
    await toys.pass(100)
    expect(looks).toBeGreaterThanOrEqual(200)
  })
})

test('Reconciler measures its reaction from the event on, although another replica had the lease', async () => {
  const { metrics } = toys.replica()
  toys.put('one')
  await toys.pass(500)
  metrics.reconcileReaction.reset()
  toys.leases.held.add('gadget:n/one')
  toys.put('one', { image: 'app:2' })
  await toys.pass(300)
  toys.leases.held.delete('gadget:n/one')
  await toys.pass(1_000)
  const { values } = await metrics.reconcileReaction.get()
  const sum = values.find(({ metricName, labels }) => /_sum$/.test(metricName ?? '') && labels.kind === 'gadget')
  expect(sum?.value).toBeGreaterThanOrEqual(0.3)
})
