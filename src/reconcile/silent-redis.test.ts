/** Effects and leases, and a Redis that does not answer. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Fenced } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { holding } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'
import type { Effect } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

describe('Reconciler and Redis', () => {
  test('goes on without a lease that does not come, and gives it back when it does', async () => {
    const late = Promise.withResolvers<void>()
    samples.leases.late = late.promise
    samples.replica()
    samples.put('one')
    await samples.pass(1_500)
    expect(samples.names('RoleBinding')).toEqual(['s-one'])
    late.resolve()
    samples.leases.late = undefined
    await samples.pass(100)
    expect([...samples.leases.held]).toEqual([])
  })

  test('takes a hundred rights away within a second while Redis is silent', async () => {
    samples.replica()
    const names = Array.from({ length: 100 }, (_, i) => `s${i}`)
    for (const name of names) samples.put(name, { members: ['ada', 'eve'] })
    await samples.pass(5_000)
    const late = Promise.withResolvers<void>()
    samples.leases.late = late.promise
    for (const name of names) samples.put(name, { members: ['ada'] })
    await samples.pass(1_000)
    const isHers = (name: string) => JSON.stringify(samples.get('RoleBinding', `s-${name}`)!.subjects).includes('eve')
    expect([names.filter(isHers).length, samples.names('RoleBinding').length]).toEqual([0, 100])
    late.resolve()
    samples.leases.late = undefined
    await samples.pass(6_000)
    expect([...samples.leases.held]).toEqual([])
  })

  test('ends the wait of a turn for its lease when a revocation comes', async () => {
    samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(1_000)
    const late = Promise.withResolvers<void>()
    samples.leases.late = late.promise
    samples.put('one', { members: ['ada', 'eve'], image: 'app:2' })
    await samples.pass(100)
    samples.put('one', { members: ['ada'], image: 'app:2' })
    await samples.pass(500)
    expect(samples.get('RoleBinding', 's-one')!.subjects).toMatchObject([{ name: 'ada' }])
    late.resolve()
    samples.leases.late = undefined
    await samples.pass(3_000)
    expect([[...samples.leases.held], samples.phase('one')]).toEqual([[], 'Ready'])
  })

  test('revokes at once when Redis does not take the lease back', async () => {
    samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    samples.leases.kept = new Promise(() => {})
    await samples.pass(400)
    samples.put('one', { members: ['ada'] })
    await samples.pass(1_000)
    expect(samples.get('RoleBinding', 's-one')!.subjects).toMatchObject([{ name: 'ada' }])
  })

  test('revokes without a question when an effect was not answered', async () => {
    let [mark, answer] = ['1', Promise.resolve()]
    const effects = () => ({ effects: [{ name: 'route', mark, apply: () => answer }] })
    const { reconciler } = samples.replica({ change: holding(effects) as never })
    for (const name of ['one', 'two']) samples.put(name, { members: ['ada', 'eve'] })
    await samples.pass(1_000)
    const silence = Promise.withResolvers<void>()
    mark = '2'
    answer = silence.promise
    samples.leases.late = silence.promise
    reconciler.poke('n/one')
    // The effect has a second.
    await samples.pass(1_100)
    samples.put('two', { members: ['ada'] })
    await samples.pass(100)
    expect(samples.get('RoleBinding', 's-two')!.subjects).toMatchObject([{ name: 'ada' }])
    silence.resolve()
  })

  test('goes on without a lease when a defect keeps it, and logs that once', async () => {
    samples.leases.silent = true
    samples.replica()
    samples.put('one')
    await samples.pass(1_500)
    expect(samples.log.messages).toEqual([])
    samples.leases.defect = new TypeError('a defect')
    for (const name of ['two', 'three']) samples.put(name)
    await samples.pass(1_500)
    expect(samples.names('RoleBinding')).toHaveLength(3)
    const line = 'warn: a lease of a custom resource was not taken, for no reason of Redis'
    // One of each kind.
    expect(samples.log.messages).toEqual([line, line])
  })

  test('asks nothing of a silent Redis but a lease, and nothing at all until it is asked again', async () => {
    const begun: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void begun.push('route') }
    samples.leases.silent = true
    const { reconciler } = samples.replica({ change: holding(() => ({ effects: [route] })) as never })
    samples.put('one')
    await samples.pass(450)
    const { asked } = samples.leases
    reconciler.poke('n/one')
    await samples.pass(50)
    expect([begun, samples.leases.asked - asked, samples.names('RoleBinding')]).toEqual([[], 0, ['s-one']])
    samples.leases.silent = false
    await samples.pass(6_000)
    expect(begun).toEqual(['route'])
  })

  test('writes effects again when Redis has lost them, and when the parent was made again', async () => {
    const written: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void written.push('route') }
    const { reconciler } = samples.replica({ change: holding(() => ({ effects: [route] })) as never })
    samples.put('one')
    await samples.pass(500)
    reconciler.poke('n/one', true)
    await samples.pass(500)
    expect(written).toHaveLength(1)
    reconciler.effectsLost()
    await samples.pass(500)
    expect(written).toHaveLength(2)
    samples.api.remove({ apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', namespace: 'n', name: 'one' })
    await samples.pass(500)
    samples.put('one')
    await samples.pass(500)
    expect(written).toHaveLength(3)
  })

  test('writes effects and statuses for a parent that was made again at once', async () => {
    const written: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void written.push('route') }
    samples.replica({ change: holding(() => ({ effects: [route] })) as never })
    samples.put('one')
    await samples.pass(500)
    samples.api.remove({ apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', namespace: 'n', name: 'one' })
    samples.put('one')
    await samples.pass(1_000)
    expect([written.length, samples.phase('one')]).toEqual([2, 'Ready'])
  })

  test('does not wait for what failed of a former parent', async () => {
    samples.replica()
    samples.api.onWrite = (_verb, { kind }) => {
      if (kind === 'Deployment') throw new KubeError(403, 'Forbidden', 'denied')
    }
    samples.put('one')
    await samples.pass(20_000)
    samples.api.onWrite = () => {}
    samples.api.remove({ apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', namespace: 'n', name: 'one' })
    samples.put('one')
    await samples.pass(1_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('reads the parent when an effect is fenced, and calls that no failure', async () => {
    let tries = 0
    const fenced = async () => {
      tries += 1
      if (tries === 1) throw new Fenced('a newer generation is known')
    }
    samples.replica({ change: holding(() => ({ effects: [{ name: 'route', mark: '1', apply: fenced }] })) as never })
    samples.put('one')
    const phases = new Set<unknown>()
    for (let i = 0; i < 50; i += 1) {
      await samples.pass(20)
      phases.add(samples.phase('one'))
    }
    phases.delete(undefined)
    expect([tries, [...phases], samples.log.messages]).toEqual([2, ['Ready'], []])
  })

  test('makes the objects although the effects hang, and waits for one of them only', async () => {
    const begun: string[] = []
    const hanging = Promise.withResolvers<void>()
    const effect = (name: string): Effect => ({
      name,
      mark: '1',
      apply: () => {
        begun.push(name)
        return hanging.promise
      },
    })
    samples.replica({ change: holding(() => ({ effects: ['a', 'b', 'c'].map(effect) })) as never })
    samples.put('one')
    await samples.pass(1_300)
    expect([begun, samples.names('RoleBinding')]).toEqual([['a'], ['s-one']])
    expect(samples.get('Sample', 'one')!.status).toMatchObject({ message: 'a, b, c waits for Redis' })
    hanging.resolve()
    await samples.pass(3_000)
    expect([begun, samples.get('Sample', 'one')!.status]).toMatchObject([['a', 'a', 'b', 'c'], { message: '' }])
  })
})
