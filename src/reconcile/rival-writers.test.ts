/** Others who write what we write: our status, our objects under our hands, and a process that ends amid its turn. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KubeError } from '../kube/client.ts'
import { Toys } from './testing/toys.ts'
import type { Kind } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

/** Somebody replaces the status. */
function replaceStatus(message: string): void {
  const { apiVersion, kind, metadata, spec } = toys.get('Gadget', 'one')!
  toys.api.put({ apiVersion, kind, metadata, spec, status: { phase: 'Ready', message, observedGeneration: 1 } })
}

async function settle(): Promise<void> {
  toys.replica()
  toys.put('one')
  await toys.pass(500)
  toys.written()
}

test('Reconciler says that it is contended when others replace its status three times', async () => {
  await settle()
  for (let i = 0; i < 2; i += 1) {
    replaceStatus(`theirs ${i}`)
    await toys.pass(500)
  }
  expect(toys.phase('one')).toBe('Ready')
  replaceStatus('theirs')
  await toys.pass(500)
  expect(toys.phase('one')).toBe('Contended')
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
  toys.replica({ change: timed as never })
  const { apiVersion, kind, metadata, spec } = toys.put('one')
  toys.api.put({ apiVersion, kind, metadata, spec, status: { grants: ['theirs'], former: 1 } })
  await toys.pass(500)
  const { status } = toys.get('Gadget', 'one')!
  expect(status).toEqual({ grants: ['theirs'], phase: 'Ready', message: '', observedGeneration: 1 })
  expect([Math.min(...times) >= 1_000, Math.max(...times) <= toys.clock.wallMs()]).toEqual([true, true])
})

test('Reconciler spaces its statuses when others replace each of them', async () => {
  await settle()
  for (let i = 0; i < 100; i += 1) {
    replaceStatus(`theirs ${i}`)
    await toys.pass(500)
  }
  const writes = toys.written().filter(write => write.startsWith('status '))
  expect(writes.length).toBeGreaterThan(5)
  expect(writes.length).toBeLessThan(12)
  await toys.pass(31_000)
  expect(toys.phase('one')).toBe('Contended')
})

test('Reconciler gives up a turn, and pauses, when others change an object before each of its writes', async () => {
  await settle()
  let tries = 0
  toys.api.onWrite = (_verb, { kind }) => {
    const object = toys.get('Deployment', 'g-one')!
    if (kind !== 'Deployment' || tries > 500) return
    tries += 1
    toys.api.put({ ...object, metadata: { ...object.metadata, labels: { try: String(tries) } } })
  }
  toys.put('one', { image: 'app:2' })
  await toys.pass(300)
  expect(tries).toBe(4)
  await toys.pass(10_000)
  expect(tries).toBeLessThan(30)
})

test.each<[string, Error | undefined, string[]]>([
  ['was accepted', undefined, ['create Service g-one']],
  ['was refused', new KubeError(403, 'Forbidden', 'denied'), []],
])('Reconciler begins no write after its stop, when the one before %s', async (_how, refusal, written) => {
  const { gadgets } = toys.replica()
  const answered = Promise.withResolvers<void>()
  toys.api.onWrite = async (_verb, { kind }) => {
    if (kind !== 'Service') return
    await answered.promise
    if (refusal) throw refusal
  }
  toys.put('one')
  await toys.pass(100)
  const stopped = gadgets.stop()
  answered.resolve()
  await stopped
  await toys.pass(1_000)
  expect(toys.written().filter(write => !write.includes('ConfigMap'))).toEqual(written)
})
