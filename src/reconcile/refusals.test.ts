/** Answers of the API server: refusals, and no answers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import type { AnyKind } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

describe('Reconciler and answers of the API server', () => {
  /** Answers the writes of a kind with an error, `times` times. */
  function answer(kind: string, error: Error, times = Number.POSITIVE_INFINITY): { count: number } {
    const answered = { count: 0 }
    samples.api.onWrite = (_verb, ref) => {
      if (ref.kind !== kind || answered.count >= times) return
      answered.count += 1
      throw error
    }
    return answered
  }

  test.each<[string, Error]>([
    ['409 of a quota', new KubeError(409, 'Conflict', 'the quota was modified')],
    ['404 of a namespace', new KubeError(404, 'NotFound', 'namespaces "n" not found')],
    ['422', new KubeError(422, 'Invalid', 'spec: Invalid value')],
    ['429 or 5xx', new RetryLater('Kubernetes does not answer for now', 2_000)],
  ])('comes back to a creation that was answered with %s', async (_what, error) => {
    samples.replica()
    const answered = answer('Service', error, 3)
    samples.put('one')
    await samples.pass(20_000)
    expect([answered.count, samples.phase('one')]).toEqual([3, 'Ready'])
  })

  test('comes back at once, and says nothing, when a quota is counted for another at the moment', async () => {
    samples.replica()
    const answered = answer('Service', new KubeError(409, 'Conflict', 'the quota was modified'), 1)
    samples.put('one')
    await samples.pass(500)
    const statuses = samples.written().filter(write => write.startsWith('status '))
    expect([answered.count, samples.phase('one'), statuses.length]).toEqual([1, 'Ready', 1])
  })

  test('pauses between refusals of the same wish', async () => {
    samples.replica()
    const answered = answer('Service', new KubeError(422, 'Invalid', 'spec: Invalid value'))
    samples.put('one')
    await samples.pass(300_000)
    expect(answered.count).toBeGreaterThan(5)
    expect(answered.count).toBeLessThan(15)
  })

  test('pauses between refusals whose words differ, and between the statuses that tell them', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica()
    let refused = 0
    samples.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Deployment') return
      refused += 1
      if (refused > 1_000) throw new Error('tried without a pause')
      throw new KubeError(403, 'Forbidden', `denied, request ${refused}`)
    }
    samples.put('one')
    await samples.pass(60_000)
    const statuses = samples.written().filter(write => write.startsWith('status '))
    // After 0, 1, 3, 7, 15, 31 and 63 s at most, by each replica.
    expect([refused, statuses.length].map(count => count > 3 && count < 3 * 8)).toEqual([true, true])
    expect(samples.get('Sample', 'one')!.status).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('denied, request'),
    })
  })

  test('sends nothing again for edits that change no wish, until the pause is over', async () => {
    samples.replica()
    const answered = answer('Deployment', new KubeError(403, 'Forbidden', 'denied'))
    samples.put('one')
    await samples.pass(20_000)
    const before = answered.count
    for (let i = 0; i < 100; i += 1) {
      samples.put('one')
      await samples.pass(10)
    }
    expect(answered.count - before).toBeLessThanOrEqual(1)
    samples.put('one', { image: 'app:2' })
    await samples.pass(100)
    expect(answered.count - before).toBeGreaterThanOrEqual(1)
  })

  test('tries a revocation that is refused again at an urgent event, a second later', async () => {
    samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(500)
    const answered = answer('RoleBinding', new KubeError(403, 'Forbidden', 'denied'))
    samples.put('one', { members: ['ada'] })
    for (let i = 0; i < 50; i += 1) {
      await samples.pass(100)
      samples.put('one', { members: ['ada'] })
    }
    expect(answered.count).toBeGreaterThanOrEqual(4)
    expect(answered.count).toBeLessThanOrEqual(8)
  })

  test('pauses when its status is refused', async () => {
    samples.replica()
    const answered = answer('Sample', new KubeError(422, 'Invalid', 'status: Invalid value'))
    samples.put('one')
    for (let i = 0; i < 50; i += 1) {
      samples.put('one')
      await samples.pass(100)
    }
    expect(answered.count).toBeLessThan(6)
  })

  test('waits as long as the server asks for', async () => {
    samples.replica()
    const answered = answer('Service', new RetryLater('busy', 30_000))
    samples.put('one')
    await samples.pass(29_000)
    expect(answered.count).toBe(1)
  })

  test('reads an object that has another UID by now', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    const answered = { count: 0 }
    samples.api.onWrite = (_verb, ref) => {
      if (ref.kind !== 'Deployment' || answered.count > 0) return
      answered.count += 1
      samples.api.put({ ...samples.get('Deployment', 's-one')!, spec: { replicas: 7 } })
      throw new KubeError(422, 'Invalid', 'metadata.uid: field is immutable')
    }
    samples.put('one', { image: 'app:2' })
    await samples.pass(500)
    expect(JSON.stringify(samples.get('Deployment', 's-one')!.spec)).toContain('app:2')
    expect(samples.log.messages).toEqual([])
  })

  test('tells why a change was refused, although the object is the same', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    answer('Deployment', new KubeError(422, 'Invalid', 'spec.image: Invalid value'))
    samples.put('one', { image: 'app:2' })
    await samples.pass(500)
    expect(samples.get('Sample', 'one')!.status).toMatchObject({
      phase: 'Failed',
      message: 'spec.image: Invalid value',
    })
  })

  test('hears no event that is not urgent between refusals', async () => {
    const { reconciler } = samples.replica()
    const answered = answer('Service', new KubeError(422, 'Invalid', 'spec: Invalid value'))
    samples.put('one')
    await samples.pass(30_000)
    const before = answered.count
    for (let i = 0; i < 10; i += 1) {
      reconciler.poke('n/one')
      await samples.pass(100)
    }
    expect(answered.count - before).toBeLessThanOrEqual(1)
  })

  test('does not take a missing status for a missing parent', async () => {
    const gone: string[] = []
    samples.replica({
      change: ((kind: AnyKind) => ({ ...kind, onGone: async (key: string) => void gone.push(key) })) as never,
    })
    samples.api.hasStatus = false
    samples.put('one')
    await samples.pass(5_000)
    expect([samples.names('RoleBinding'), gone]).toEqual([['s-one'], []])
  })

  test('tells and logs the server’s words, but no long quotation', async () => {
    const logged: object[] = []
    samples.log.warn = fields => void logged.push(fields)
    samples.replica()
    const words = `spec: Invalid value: "${'x'.repeat(1_000_000)}": must be no more than 253 characters`
    answer('Service', new KubeError(422, 'Invalid', words))
    samples.put('one')
    samples.put('two')
    await samples.pass(10_000)
    const { message } = samples.get('Sample', 'one')!.status as { message: string }
    expect(message).toMatch(/^spec: Invalid value: .* must be no more than 253 characters$/)
    expect([logged.length, JSON.stringify(logged).length < 4_000]).toEqual([1, true])
  })

  test('tells that the API server does not answer, at the third try', async () => {
    samples.replica()
    answer('Deployment', new RetryLater('Kubernetes does not answer for now: webhook down'))
    samples.put('one')
    await samples.pass(1_000)
    expect(samples.get('Sample', 'one')!.status).toBeUndefined()
    await samples.pass(5_000)
    expect(samples.get('Sample', 'one')!.status).toMatchObject({
      ...{ phase: 'Failed', message: 'Kubernetes does not answer for now: webhook down' },
    })
  })
})
