import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { holding } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'
import type { Kind, Lock } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

/** The kind with a lock. */
const underLock = (check: Lock['check']) => holding(() => ({ lock: { name: 'group:g', check } })) as never

const ref = (kind: string, name: string, apiVersion = 'v1') => ({ apiVersion, kind, namespace: 'n', name })

describe('Reconciler with trouble', () => {
  test('goes on without Redis, and tells what waits for it', async () => {
    let done = 0
    const apply = async () => {
      if (samples.leases.silent) throw new RetryLater('Redis does not answer')
      done += 1
    }
    samples.replica({ change: holding(() => ({ effects: [{ name: 'route', mark: '1', apply }] })) as never })
    samples.leases.silent = true
    samples.put('one')
    await samples.pass(2_000)
    expect(samples.names('RoleBinding')).toEqual(['s-one'])
    expect(samples.get('Sample', 'one')!.status).toMatchObject({ phase: 'Ready', message: 'route waits for Redis' })
    samples.leases.silent = false
    await samples.pass(6_500)
    expect(done).toBe(1)
    expect(samples.get('Sample', 'one')!.status).toMatchObject({ phase: 'Ready', message: '' })
  })

  test('does nothing that needs a lock without Redis, except revocations', async () => {
    samples.replica({ change: underLock(async () => undefined) })
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(500)
    samples.leases.silent = true
    samples.written()
    samples.put('one', { members: ['ada', 'bob'] })
    await samples.pass(2_000)
    expect(JSON.stringify(samples.get('RoleBinding', 's-one')!.subjects)).not.toMatch(/eve|bob/)
    expect(samples.get('Sample', 'one')!.status).toMatchObject({ message: 'group:g waits for Redis' })
    samples.leases.silent = false
    await samples.pass(6_500)
    expect(JSON.stringify(samples.get('RoleBinding', 's-one')!.subjects)).toContain('bob')
  })

  test('looks again when it has a lock, and does nothing while another has it', async () => {
    const checks: string[][] = []
    const check = async () => {
      checks.push(samples.names('Service'))
      return undefined
    }
    const change = (kind: Kind<never>): Kind<never> => ({
      ...kind,
      desired: (...args) => {
        const verdict = kind.desired(...args)
        const isFull =
          samples.names('Service').length > 0 && !samples.names('Service').includes(`s-${args[0].slice(2)}`)
        if (verdict.do === 'leave') return verdict
        return { ...verdict, lock: { name: 'group:g', check }, objects: isFull ? [] : verdict.objects }
      },
    })
    samples.replica({ change: change as never })
    samples.leases.held.add('lock-of:group:g')
    samples.put('one')
    await samples.pass(2_000)
    expect([samples.names('Service'), checks]).toEqual([[], []])
    // Its holder has made another one meanwhile.
    samples.api.put({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's-two', namespace: 'n' } })
    samples.leases.held.delete('lock-of:group:g')
    await samples.pass(2_000)
    expect([samples.names('Service'), checks]).toEqual([['s-two'], []])
  })

  test('creates nothing for the reason that the check of a lock gives, and asks again later', async () => {
    let asked = 0
    const check = async () => {
      asked += 1
      return asked < 4 ? 'the group has no more GPUs' : undefined
    }
    samples.replica({ change: underLock(check) })
    samples.put('one')
    await samples.pass(500)
    expect([samples.names('Service'), samples.get('Sample', 'one')!.status]).toMatchObject([
      [],
      { phase: 'Failed', message: 'the group has no more GPUs' },
    ])
    await samples.pass(10_000)
    expect([asked, samples.phase('one'), samples.log.messages]).toEqual([4, 'Ready', []])
  })

  test('ends a turn in its time when the check of a lock does not answer', async () => {
    let asked = 0
    const check = async () => {
      asked += 1
      return asked === 1 ? new Promise<undefined>(() => {}) : undefined
    }
    samples.replica({ change: underLock(check) })
    samples.put('one')
    await samples.pass(500)
    expect(samples.names('Service')).toEqual([])
    await samples.pass(8_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('waits for another replica’s lease, but not with a revocation', async () => {
    samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(500)
    samples.leases.held.add('sample:n/one')
    samples.written()
    samples.put('one', { members: ['ada'], image: 'app:2' })
    await samples.pass(1_000)
    expect(new Set(samples.written())).toEqual(new Set(['patch RoleBinding s-one']))
    samples.leases.held.delete('sample:n/one')
    await samples.pass(1_000)
    expect(samples.written()).toContain('patch Deployment s-one')
  })

  test('tells why a write was refused, and tries again later', async () => {
    samples.replica()
    let refused = 0
    samples.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Deployment') return
      refused += 1
      throw new KubeError(403, 'Forbidden', 'exceeded quota')
    }
    samples.put('one')
    await samples.pass(1_000)
    expect(samples.get('Sample', 'one')!.status).toMatchObject({ phase: 'Failed', message: 'exceeded quota' })
    await samples.pass(60_000)
    expect(refused).toBeGreaterThan(3)
    expect(refused).toBeLessThan(10)
    samples.api.onWrite = () => {}
    await samples.pass(65_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('carries out a revocation although the writes of the key fail', async () => {
    samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(500)
    samples.api.onWrite = (_verb, { kind }) => {
      if (kind === 'Deployment') throw new RetryLater('no answer')
    }
    samples.put('one', { image: 'app:2', members: ['ada', 'eve'] })
    await samples.pass(30_000)
    samples.put('one', { image: 'app:2', members: ['ada'] })
    await samples.pass(500)
    expect(JSON.stringify(samples.get('RoleBinding', 's-one')!.subjects)).not.toContain('eve')
  })

  test('sends nothing after its time, in a process that was stopped', async () => {
    samples.replica()
    samples.put('one')
    let wake = () => {}
    const stopped = new Promise<void>(resolve => {
      wake = resolve
    })
    samples.api.onWrite = (_verb, { kind }) => (kind === 'Service' ? stopped : undefined)
    await samples.pass(500)
    samples.api.onWrite = () => {}
    // No event begins another turn.
    samples.api.live = false
    samples.clock.advance(7_000)
    wake()
    await samples.pass(10)
    expect(samples.written().filter(write => !/ConfigMap/.test(write))).toEqual(['create Service s-one'])
    samples.api.live = true
    samples.api.show()
    await samples.pass(1_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('awaits the end of an object, and makes it again', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    const service = samples.get('Service', 's-one')!
    samples.api.put({ ...service, metadata: { ...service.metadata, deletionTimestamp: '2026-11-22T10:00:00Z' } })
    samples.put('one', { image: 'app:2', members: [] })
    await samples.pass(2_000)
    expect([samples.phase('one'), samples.names('RoleBinding')]).toEqual(['Waiting', []])
    expect(JSON.stringify(samples.get('Deployment', 's-one')!.spec)).not.toContain('app:2')
    samples.api.remove(ref('Service', 's-one'))
    await samples.pass(1_000)
    expect([samples.phase('one'), samples.names('Service')]).toEqual(['Ready', ['s-one']])
  })

  test('tells once that a key is gone', async () => {
    const gone: string[] = []
    const change = (kind: Kind<never>): Kind<never> => ({ ...kind, onGone: async key => void gone.push(key) })
    samples.replica({ change: change as never })
    samples.put('one')
    await samples.pass(500)
    samples.api.remove(ref('Sample', 'one', 'sample.skylab.dev/v1'))
    // An object names a key that is none of ours.
    samples.api.put({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's-two', namespace: 'n' } })
    await samples.pass(1_000)
    expect(gone).toEqual(['n/one'])
  })

  test('has failpoints at each write', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    expect(samples.failpoints).toContain('reconcile.sample.create.RoleBinding.before-send')
    expect(samples.failpoints).toContain('reconcile.sample.report.Sample.before-send')
  })
})
