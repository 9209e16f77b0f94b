/** Others who write what we write: our status, our objects under our hands, and a process that ends amid its turn. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KubeError } from '../kube/client.ts'
import { Samples } from './testing/samples.ts'
import type { Kind } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

/** Somebody replaces the status. */
function replaceStatus(message: string): void {
  const { apiVersion, kind, metadata, spec } = samples.get('Sample', 'one')!
  samples.api.put({ apiVersion, kind, metadata, spec, status: { phase: 'Ready', message, observedGeneration: 1 } })
}

async function settle(): Promise<void> {
  samples.replica()
  samples.put('one')
  await samples.pass(500)
  samples.written()
}

test('Reconciler says that it is contended when others replace its status three times', async () => {
  await settle()
  for (let i = 0; i < 2; i += 1) {
    replaceStatus(`theirs ${i}`)
    await samples.pass(500)
  }
  expect(samples.phase('one')).toBe('Ready')
  replaceStatus('theirs')
  await samples.pass(500)
  expect(samples.phase('one')).toBe('Contended')
})

test('Reconciler leaves fields of the status that its kind does not name, and tells it the time', async () => {
  const times: number[] = []
  const timed = (kind: Kind<never>): Kind<never> => ({
    ...kind,
    report: (key, world, result, nowMs) => {
      times.push(nowMs)
      const change = kind.report(key, world, result, nowMs)
      return change && { ...change, status: { ...change.status, former: null } }
    },
  })
  samples.replica({ change: timed as never })
  const { apiVersion, kind, metadata, spec } = samples.put('one')
  samples.api.put({ apiVersion, kind, metadata, spec, status: { grants: ['theirs'], former: 1 } })
  await samples.pass(500)
  const { status } = samples.get('Sample', 'one')!
  expect(status).toEqual({ grants: ['theirs'], phase: 'Ready', message: '', observedGeneration: 1 })
  expect([Math.min(...times) >= 1_000, Math.max(...times) <= samples.clock.wallMs()]).toEqual([true, true])
})

test('Reconciler spaces its statuses when others replace each of them', async () => {
  await settle()
  for (let i = 0; i < 100; i += 1) {
    replaceStatus(`theirs ${i}`)
    await samples.pass(500)
  }
  const writes = samples.written().filter(write => write.startsWith('status '))
  expect(writes.length).toBeGreaterThan(5)
  expect(writes.length).toBeLessThan(12)
  await samples.pass(31_000)
  expect(samples.phase('one')).toBe('Contended')
})

test('Reconciler gives up a turn, and pauses, when others change an object before each of its writes', async () => {
  await settle()
  let tries = 0
  samples.api.onWrite = (_verb, { kind }) => {
    const object = samples.get('Deployment', 's-one')!
    if (kind !== 'Deployment' || tries > 500) return
    tries += 1
    samples.api.put({ ...object, metadata: { ...object.metadata, labels: { try: String(tries) } } })
  }
  samples.put('one', { image: 'app:2' })
  await samples.pass(300)
  expect(tries).toBe(4)
  await samples.pass(10_000)
  expect(tries).toBeLessThan(30)
})

test.each<[string, Error | undefined, string[]]>([
  ['was accepted', undefined, ['create Service s-one']],
  ['was refused', new KubeError(403, 'Forbidden', 'denied'), []],
])('Reconciler begins no write after its stop, when the one before %s', async (_how, refusal, written) => {
  const { reconciler } = samples.replica()
  const answered = Promise.withResolvers<void>()
  samples.api.onWrite = async (_verb, { kind }) => {
    if (kind !== 'Service') return
    await answered.promise
    if (refusal) throw refusal
  }
  samples.put('one')
  await samples.pass(100)
  const stopped = reconciler.stop()
  answered.resolve()
  await stopped
  await samples.pass(1_000)
  expect(samples.written().filter(write => !write.includes('ConfigMap'))).toEqual(written)
})
