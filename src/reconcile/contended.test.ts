/** Two who want different things: when to pause, and what goes on in a pause. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { otherObjects } from '../../test/kit/reconcile/toy.ts'
import { Toys } from './testing/toys.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const service = { apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' }

describe('Reconciler with a rival', () => {
  test('pauses where two releases have different wishes, and revokes nevertheless', async () => {
    toys.replica({ flavour: 'a' })
    toys.replica({ flavour: 'b' })
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(60_000)
    const first = toys.written().length
    expect(toys.phase('one')).toBe('Contended')
    await toys.pass(60_000)
    expect(first).toBeLessThan(40)
    expect(toys.written().length).toBeLessThan(20)
    const binding = toys.get('RoleBinding', 'g-one')!
    const eve = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }
    toys.api.put({ ...binding, subjects: [...(binding.subjects as object[]), { ...eve, name: 'mallory' }] })
    await toys.pass(1_000)
    expect(JSON.stringify(toys.get('RoleBinding', 'g-one')!.subjects)).not.toContain('mallory')
  })

  test('pauses where two releases differ in whether an object exists, and says so', async () => {
    toys.replica({ flavour: 'a' })
    toys.replica({ flavour: otherObjects })
    toys.put('one')
    await toys.pass(60_000)
    expect(toys.written().length).toBeLessThan(40)
    expect(toys.phase('one')).toBe('Contended')
    await toys.pass(60_000)
    expect(toys.written().length).toBeLessThan(20)
  })

  test('pauses where a stranger deletes an object again and again, and still makes it in each pause', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.written()
    for (let i = 0; i < 1_200; i += 1) {
      toys.api.remove(service)
      await toys.pass(100)
    }
    const made = toys.written().filter(write => write === 'create Service g-one').length
    expect([made >= 3 + 2, made <= 4 + 4]).toEqual([true, true])
  })

  test('corrects once after each pause what a stranger changes, also if he writes in each pause', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const edit = (image: string) => {
      const deployment = toys.get('Deployment', 'g-one')!
      const text = JSON.stringify(deployment.spec).replace(/"image":"[^"]*"/, `"image":"${image}"`)
      toys.api.put({ ...deployment, spec: JSON.parse(text) })
    }
    for (let i = 0; i < 4; i += 1) {
      edit(`theirs:${i}`)
      await toys.pass(200)
    }
    toys.written()
    for (let i = 0; i < 10; i += 1) {
      await toys.pass(15_000)
      edit(`again:${i}`)
      await toys.pass(15_000)
    }
    const corrections = toys.written().filter(write => write === 'patch Deployment g-one').length
    expect([corrections >= 4, corrections <= 12]).toEqual([true, true])
  })

  test('agree that they are contended, also those that have given way', async () => {
    toys.replica({ flavour: 'a' })
    toys.replica({ flavour: 'a' })
    toys.replica({ flavour: 'b' })
    for (let i = 0; i < 5; i += 1) toys.put(`g${i}`)
    await toys.pass(20_000)
    const told: unknown[] = []
    for (let second = 0; second < 240; second += 1) {
      await toys.pass(1_000)
      for (let i = 0; i < 5; i += 1) told.push(toys.phase(`g${i}`))
    }
    const share = told.filter(phase => phase === 'Contended').length / told.length
    expect(share).toBeGreaterThan(0.9)
    expect(toys.written().length / 5).toBeLessThan(60)
  })

  test('agree that all is well when the rival is gone, and rest', async () => {
    for (let i = 0; i < 3; i += 1) toys.replica({ flavour: 'a' })
    const rival = toys.replica({ flavour: otherObjects })
    for (let i = 0; i < 5; i += 1) toys.put(`g${i}`)
    await toys.pass(60_000)
    await Promise.all([rival.gadgets.stop(), rival.colours.stop()])
    for (let i = 0; i < 5; i += 1) toys.api.remove({ ...service, kind: 'ConfigMap', name: `g-g${i}` })
    await toys.pass(180_000)
    toys.written()
    await toys.pass(360_000)
    expect([toys.written(), [0, 1, 2, 3, 4].map(i => toys.phase(`g${i}`))]).toEqual([[], Array(5).fill('Ready')])
  })

  test('does not take edits of the parent for another writer’s', async () => {
    for (let i = 0; i < 3; i += 1) toys.replica()
    toys.put('one')
    for (let i = 0; i < 20; i += 1) {
      await toys.pass(200)
      toys.put('one', { image: `app:${i}` })
    }
    await toys.pass(2_000)
    expect(JSON.stringify(toys.get('Deployment', 'g-one')!.spec)).toContain('app:19')
    expect(toys.phase('one')).toBe('Ready')
  })
})
