import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { Toys } from './testing/toys.ts'
import type { Kind } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const ref = (kind: string, name: string, apiVersion = 'v1') => ({ apiVersion, kind, namespace: 'n', name })

describe('Reconciler with trouble', () => {
  test('goes on without Redis, and tells what waits for it', async () => {
    const effect = { name: 'route', mark: '1', done: 0 }
    const change = (kind: Kind<never>) => withEffect(kind, effect, toys)
    toys.replica({ change: change as never })
    toys.leases.silent = true
    toys.put('one')
    await toys.pass(2_000)
    expect(toys.names('RoleBinding')).toEqual(['g-one'])
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ phase: 'Ready', message: 'route waits for Redis' })
    toys.leases.silent = false
    await toys.pass(6_500)
    expect(effect.done).toBe(1)
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ phase: 'Ready', message: '' })
  })

  test('does nothing that needs a lock without Redis, except revocations', async () => {
    const change = (kind: Kind<never>): Kind<never> => ({
      ...kind,
      desired: (...args) => ({ ...kind.desired(...args), lock: { name: 'group:g', check: async () => undefined } }),
    })
    toys.replica({ change: change as never })
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(500)
    toys.leases.silent = true
    toys.written()
    toys.put('one', { members: ['ada', 'bob'] })
    await toys.pass(2_000)
    expect(JSON.stringify(toys.get('RoleBinding', 'g-one')!.subjects)).not.toMatch(/eve|bob/)
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ message: 'group:g waits for Redis' })
    toys.leases.silent = false
    await toys.pass(6_500)
    expect(JSON.stringify(toys.get('RoleBinding', 'g-one')!.subjects)).toContain('bob')
  })

  test('looks again when it has a lock, and does nothing while another has it', async () => {
    const checks: string[][] = []
    const check = async () => {
      checks.push(toys.names('Service'))
      return undefined
    }
    const change = (kind: Kind<never>): Kind<never> => ({
      ...kind,
      desired: (...args) => {
        const verdict = kind.desired(...args)
        const isFull = toys.names('Service').length > 0 && !toys.names('Service').includes(`g-${args[0].slice(2)}`)
        if (verdict.do === 'leave') return verdict
        return { ...verdict, lock: { name: 'group:g', check }, objects: isFull ? [] : verdict.objects }
      },
    })
    toys.replica({ change: change as never })
    toys.leases.held.add('lock-of:group:g')
    toys.put('one')
    await toys.pass(2_000)
    expect([toys.names('Service'), checks]).toEqual([[], []])
    // Its holder has made another one meanwhile.
    toys.api.put({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'g-two', namespace: 'n' } })
    toys.leases.held.delete('lock-of:group:g')
    await toys.pass(2_000)
    expect([toys.names('Service'), checks]).toEqual([['g-two'], []])
  })

  test('creates nothing for the reason that the check of a lock gives, and asks again later', async () => {
    let asked = 0
    const check = async () => {
      asked += 1
      return asked < 4 ? 'the group has no more GPUs' : undefined
    }
    const change = (kind: Kind<never>): Kind<never> => ({
      ...kind,
      desired: (...args) => ({ ...kind.desired(...args), lock: { name: 'group:g', check } }),
    })
    toys.replica({ change: change as never })
    toys.put('one')
    await toys.pass(500)
    expect([toys.names('Service'), toys.get('Gadget', 'one')!.status]).toMatchObject([
      [],
      { phase: 'Failed', message: 'the group has no more GPUs' },
    ])
    await toys.pass(10_000)
    expect([asked, toys.phase('one'), toys.log.messages]).toEqual([4, 'Ready', []])
  })

  test('waits for another replica’s lease, but not with a revocation', async () => {
    toys.replica()
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(500)
    toys.leases.held.add('gadget:n/one')
    toys.written()
    toys.put('one', { members: ['ada'], image: 'app:2' })
    await toys.pass(1_000)
    expect(new Set(toys.written())).toEqual(new Set(['patch RoleBinding g-one']))
    toys.leases.held.delete('gadget:n/one')
    await toys.pass(1_000)
    expect(toys.written()).toContain('patch Deployment g-one')
  })

  test('tells why a write was refused, and tries again later', async () => {
    toys.replica()
    let refused = 0
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Deployment') return
      refused += 1
      throw new KubeError(403, 'Forbidden', 'exceeded quota')
    }
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ phase: 'Failed', message: 'exceeded quota' })
    await toys.pass(60_000)
    expect(refused).toBeGreaterThan(3)
    expect(refused).toBeLessThan(10)
    toys.api.onWrite = () => {}
    await toys.pass(65_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('carries out a revocation although the writes of the key fail', async () => {
    toys.replica()
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(500)
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind === 'Deployment') throw new RetryLater('no answer')
    }
    toys.put('one', { image: 'app:2', members: ['ada', 'eve'] })
    await toys.pass(30_000)
    toys.put('one', { image: 'app:2', members: ['ada'] })
    await toys.pass(500)
    expect(JSON.stringify(toys.get('RoleBinding', 'g-one')!.subjects)).not.toContain('eve')
  })

  test('sends nothing after its time, in a process that was stopped', async () => {
    toys.replica()
    toys.put('one')
    let wake = () => {}
    const stopped = new Promise<void>(resolve => {
      wake = resolve
    })
    toys.api.onWrite = (_verb, { kind }) => (kind === 'Service' ? stopped : undefined)
    await toys.pass(500)
    toys.api.onWrite = () => {}
    // No event begins another turn.
    toys.api.live = false
    toys.clock.advance(7_000)
    wake()
    await toys.pass(10)
    expect(toys.written().filter(write => !/ConfigMap/.test(write))).toEqual(['create Service g-one'])
    toys.api.live = true
    toys.api.show()
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('awaits the end of an object, and makes it again', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const service = toys.get('Service', 'g-one')!
    toys.api.put({ ...service, metadata: { ...service.metadata, deletionTimestamp: '2026-11-22T10:00:00Z' } })
    toys.put('one', { image: 'app:2', members: [] })
    await toys.pass(2_000)
    expect([toys.phase('one'), toys.names('RoleBinding')]).toEqual(['Waiting', []])
    expect(JSON.stringify(toys.get('Deployment', 'g-one')!.spec)).not.toContain('app:2')
    toys.api.remove(ref('Service', 'g-one'))
    await toys.pass(1_000)
    expect([toys.phase('one'), toys.names('Service')]).toEqual(['Ready', ['g-one']])
  })

  test('tells once that a key is gone', async () => {
    const gone: string[] = []
    const change = (kind: Kind<never>): Kind<never> => ({ ...kind, onGone: async key => void gone.push(key) })
    toys.replica({ change: change as never })
    toys.put('one')
    await toys.pass(500)
    toys.api.remove(ref('Gadget', 'one', 'toy.skylab.dev/v1'))
    await toys.pass(1_000)
    expect(gone).toEqual(['n/one'])
  })

  test('has failpoints at each write', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    expect(toys.failpoints).toContain('reconcile.gadget.create.RoleBinding.before-send')
    expect(toys.failpoints).toContain('reconcile.gadget.report.Gadget.before-send')
  })
})

/** An effect that needs Redis. */
function withEffect(
  kind: Kind<never>,
  effect: { name: string; mark: string; done: number },
  { leases }: Toys,
): Kind<never> {
  const apply = async () => {
    if (leases.silent) throw new RetryLater('Redis does not answer')
    effect.done += 1
  }
  const effects = [{ name: effect.name, mark: effect.mark, apply }]
  return { ...kind, desired: (...args) => ({ ...kind.desired(...args), effects }) as never }
}
