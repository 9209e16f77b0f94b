/** Effects and leases, and a Redis that does not answer. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Fenced } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { holding } from './testing/kinds.ts'
import { Toys } from './testing/toys.ts'
import type { Effect } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

describe('Reconciler and Redis', () => {
  test('goes on without a lease that does not come, and gives it back when it does', async () => {
    const late = Promise.withResolvers<void>()
    toys.leases.late = late.promise
    toys.replica()
    toys.put('one')
    await toys.pass(1_500)
    expect(toys.names('RoleBinding')).toEqual(['g-one'])
    late.resolve()
    toys.leases.late = undefined
    await toys.pass(100)
    expect([...toys.leases.held]).toEqual([])
  })

  test('asks nothing of a silent Redis but a lease, and nothing at all until it is asked again', async () => {
    const begun: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void begun.push('route') }
    toys.leases.silent = true
    const { gadgets } = toys.replica({ change: holding(() => ({ effects: [route] })) as never })
    toys.put('one')
    await toys.pass(450)
    const { asked } = toys.leases
    gadgets.poke('n/one')
    await toys.pass(50)
    expect([begun, toys.leases.asked - asked, toys.names('RoleBinding')]).toEqual([[], 0, ['g-one']])
    toys.leases.silent = false
    await toys.pass(6_000)
    expect(begun).toEqual(['route'])
  })

  test('writes effects again when Redis has lost them, and when the parent was made again', async () => {
    const written: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void written.push('route') }
    const { gadgets } = toys.replica({ change: holding(() => ({ effects: [route] })) as never })
    toys.put('one')
    await toys.pass(500)
    gadgets.poke('n/one', true)
    await toys.pass(500)
    expect(written).toHaveLength(1)
    gadgets.effectsLost()
    await toys.pass(500)
    expect(written).toHaveLength(2)
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    await toys.pass(500)
    toys.put('one')
    await toys.pass(500)
    expect(written).toHaveLength(3)
  })

  test('writes effects and statuses for a parent that was made again at once', async () => {
    const written: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void written.push('route') }
    toys.replica({ change: holding(() => ({ effects: [route] })) as never })
    toys.put('one')
    await toys.pass(500)
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    toys.put('one')
    await toys.pass(1_000)
    expect([written.length, toys.phase('one')]).toEqual([2, 'Ready'])
  })

  test('does not wait for what failed of a former parent', async () => {
    toys.replica()
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind === 'Deployment') throw new KubeError(403, 'Forbidden', 'denied')
    }
    toys.put('one')
    await toys.pass(20_000)
    toys.api.onWrite = () => {}
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('reads the parent when an effect is fenced, and calls that no failure', async () => {
    let tries = 0
    const fenced = async () => {
      tries += 1
      if (tries === 1) throw new Fenced('a newer generation is known')
    }
    toys.replica({ change: holding(() => ({ effects: [{ name: 'route', mark: '1', apply: fenced }] })) as never })
    toys.put('one')
    const phases = new Set<unknown>()
    for (let i = 0; i < 50; i += 1) {
      await toys.pass(20)
      phases.add(toys.phase('one'))
    }
    phases.delete(undefined)
    expect([tries, [...phases], toys.log.messages]).toEqual([2, ['Ready'], []])
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
    toys.replica({ change: holding(() => ({ effects: ['a', 'b', 'c'].map(effect) })) as never })
    toys.put('one')
    await toys.pass(1_300)
    expect([begun, toys.names('RoleBinding')]).toEqual([['a'], ['g-one']])
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ message: 'a, b, c waits for Redis' })
    hanging.resolve()
    await toys.pass(3_000)
    expect([begun, toys.get('Gadget', 'one')!.status]).toMatchObject([['a', 'a', 'b', 'c'], { message: '' }])
  })
})
