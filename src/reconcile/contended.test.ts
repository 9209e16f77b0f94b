/** Two who want different things: when to pause, and what goes on in a pause. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { otherObjects } from '../../test/kit/reconcile/sample.ts'
import { Samples } from './testing/samples.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const service = { apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-one' }

describe('Reconciler with a rival', () => {
  test('pauses where two releases have different wishes, and revokes nevertheless', async () => {
    samples.replica({ flavour: 'a' })
    samples.replica({ flavour: 'b' })
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(60_000)
    const first = samples.written().length
    expect(samples.phase('one')).toBe('Contended')
    await samples.pass(60_000)
    expect(first).toBeLessThan(40)
    expect(samples.written().length).toBeLessThan(20)
    const binding = samples.get('RoleBinding', 's-one')!
    const eve = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }
    samples.api.put({ ...binding, subjects: [...(binding.subjects as object[]), { ...eve, name: 'mallory' }] })
    await samples.pass(1_000)
    expect(JSON.stringify(samples.get('RoleBinding', 's-one')!.subjects)).not.toContain('mallory')
  })

  test('pauses where two releases differ in whether an object exists, and says so', async () => {
    samples.replica({ flavour: 'a' })
    samples.replica({ flavour: otherObjects })
    samples.put('one')
    await samples.pass(60_000)
    expect(samples.written().length).toBeLessThan(40)
    expect(samples.phase('one')).toBe('Contended')
    await samples.pass(60_000)
    expect(samples.written().length).toBeLessThan(20)
  })

  test('pauses where a stranger deletes an object again and again, and still makes it in each pause', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    samples.written()
    for (let i = 0; i < 1_200; i += 1) {
      samples.api.remove(service)
      await samples.pass(100)
    }
    const made = samples.written().filter(write => write === 'create Service s-one').length
    expect([made >= 3 + 2, made <= 4 + 4]).toEqual([true, true])
  })

  test('corrects once after each pause what a stranger changes, also if he writes in each pause', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    const edit = (image: string) => {
      const deployment = samples.get('Deployment', 's-one')!
      const text = JSON.stringify(deployment.spec).replace(/"image":"[^"]*"/, `"image":"${image}"`)
      samples.api.put({ ...deployment, spec: JSON.parse(text) })
    }
    for (let i = 0; i < 4; i += 1) {
      edit(`theirs:${i}`)
      await samples.pass(200)
    }
    samples.written()
    for (let i = 0; i < 10; i += 1) {
      await samples.pass(15_000)
      edit(`again:${i}`)
      await samples.pass(15_000)
    }
    const corrections = samples.written().filter(write => write === 'patch Deployment s-one').length
    expect([corrections >= 4, corrections <= 12]).toEqual([true, true])
  })

  test('agree that they are contended, also those that have given way', async () => {
    samples.replica({ flavour: 'a' })
    samples.replica({ flavour: 'a' })
    samples.replica({ flavour: 'b' })
    for (let i = 0; i < 5; i += 1) samples.put(`s${i}`)
    await samples.pass(20_000)
    const told: unknown[] = []
    for (let second = 0; second < 240; second += 1) {
      await samples.pass(1_000)
      for (let i = 0; i < 5; i += 1) told.push(samples.phase(`s${i}`))
    }
    const share = told.filter(phase => phase === 'Contended').length / told.length
    expect(share).toBeGreaterThan(0.9)
    expect(samples.written().length / 5).toBeLessThan(60)
  })

  test('agree that all is well when the rival is gone, and rest', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica({ flavour: 'a' })
    const rival = samples.replica({ flavour: otherObjects })
    for (let i = 0; i < 5; i += 1) samples.put(`s${i}`)
    await samples.pass(60_000)
    await Promise.all([rival.reconciler.stop(), rival.colours.stop()])
    for (let i = 0; i < 5; i += 1) samples.api.remove({ ...service, kind: 'ConfigMap', name: `s-s${i}` })
    samples.written()
    await samples.pass(180_000)
    // The status says that it is contended, and later that it is not.
    expect(samples.written().length).toBeLessThanOrEqual(3 * 5)
    await samples.pass(360_000)
    expect([samples.written(), [0, 1, 2, 3, 4].map(i => samples.phase(`s${i}`))]).toEqual([[], Array(5).fill('Ready')])
  })

  test('does not take edits of the parent for another writer’s', async () => {
    for (let i = 0; i < 3; i += 1) samples.replica()
    samples.put('one')
    for (let i = 0; i < 20; i += 1) {
      await samples.pass(200)
      samples.put('one', { image: `app:${i}` })
    }
    await samples.pass(2_000)
    expect(JSON.stringify(samples.get('Deployment', 's-one')!.spec)).toContain('app:19')
    expect(samples.phase('one')).toBe('Ready')
  })
})
