/** Guards of a turn that no other test reaches. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import { Fenced } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { holding } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const statuses = () => samples.written().filter(write => write.startsWith('status '))

const withImage = (deployment: KubeObject, image: string): KubeObject => {
  const text = JSON.stringify(deployment.spec).replace(/"image":"[^"]*"/, `"image":"${image}"`)
  return { ...deployment, spec: JSON.parse(text) }
}

/** Somebody gives the Deployment another image. */
const changeImage = (image: string) => samples.api.put(withImage(samples.get('Deployment', 's-one')!, image))

test('Reconciler tells a failure once for each try when another replica tells it in other words', async () => {
  const { reconciler } = samples.replica()
  samples.api.onWrite = (_verb, { kind }) => {
    if (kind === 'Deployment') throw new KubeError(403, 'Forbidden', 'denied')
  }
  samples.put('one')
  await samples.pass(3_500)
  expect(statuses().length).toBeGreaterThan(0)
  for (let i = 0; i < 10; i += 1) {
    const { status: _former, ...rest } = samples.get('Sample', 'one')!
    samples.api.put({ ...rest, status: { phase: 'Failed', message: 'denied, in other words' } } as KubeObject)
    reconciler.poke('n/one', true)
    await samples.pass(50)
  }
  // Another try may fall into this half second.
  expect(statuses().length).toBeLessThanOrEqual(1)
})

test('Reconciler leaves the status to another turn when an object is different again after its write', async () => {
  samples.replica()
  samples.put('one')
  await samples.pass(500)
  changeImage('theirs:1')
  await samples.pass(10)
  const phases: unknown[] = []
  let isUndone = false
  samples.api.onWrite = (verb, { kind }, body) => {
    if (verb === 'status') phases.push((body as { status: { phase?: unknown } }).status.phase)
    if (kind !== 'RoleBinding' || isUndone) return
    isUndone = true
    changeImage('theirs:1')
  }
  const binding = samples.get('RoleBinding', 's-one')!
  samples.api.put({ ...binding, metadata: { ...binding.metadata, labels: {} } })
  await samples.pass(1_000)
  expect([isUndone, phases.filter(phase => phase !== 'Ready')]).toEqual([true, []])
})

test('Reconciler gives up the turn when an effect is fenced again after the parent was read', async () => {
  let tries = 0
  const fenced = async () => {
    tries += 1
    if (tries < 100) throw new Fenced('a newer generation is known')
  }
  samples.replica({ change: holding(() => ({ effects: [{ name: 'route', mark: '1', apply: fenced }] })) as never })
  samples.put('one')
  await samples.pass(500)
  expect(tries).toBe(2)
})

test('Reconciler leaves a revocation to the holder of the lease at its first look', async () => {
  samples.replica()
  samples.put('one', { members: ['ada', 'eve'] })
  await samples.pass(500)
  samples.leases.held.add('sample:n/one')
  samples.written()
  samples.put('one', { members: ['ada'] })
  await samples.pass(200)
  expect(samples.written()).toEqual([])
  await samples.pass(500)
  expect(samples.written()).toEqual(['patch RoleBinding s-one'])
})

test('Reconciler reads the parent before it undoes a change of an object that another replica made', async () => {
  const first = samples.replica()
  const { sights } = samples.replica()
  for (const sight of Object.values(sights)) samples.api.stall(sight)
  samples.put('one')
  await samples.pass(500)
  await Promise.all([first.reconciler.stop(), first.colours.stop()])
  for (const sight of Object.values(sights)) samples.api.catchUp(sight)
  await samples.pass(500)
  const reads = samples.reads()
  changeImage('theirs:1')
  // The second that is left to the one that made the object.
  await samples.pass(1_500)
  expect(reads).toEqual(['Sample one'])
})

test.each<[string, string[]]>([
  ['the last stage', []],
  ['an earlier stage', ['ada']],
])('Reconciler pauses when somebody undoes each write of %s before all was ever as wished', async (_stage, members) => {
  const { api } = samples
  samples.replica()
  const put = api.put.bind(api)
  let undone = 0
  api.put = object => {
    const made = put(object)
    if (object.kind === 'Deployment' && undone < 100) {
      undone += 1
      put(withImage(made, 'theirs:1'))
    }
    return made
  }
  samples.put('one', { members })
  await samples.pass(5_000)
  expect([undone <= 10, samples.phase('one')]).toEqual([true, 'Contended'])
})
