import { afterEach, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import { KubeError } from '../../kube/client.ts'
import { stamps } from '../../kube/labels.ts'
import { Scaler } from './scaler.ts'
import { filledWatches, labelledSet, setOf } from './testing/objects.ts'

let scaler: Scaler

afterEach(() => scaler.stop())

const stopped = { annotations: { [stamps.stopped]: 'x' } }

function start(patch: (name: string) => void | Promise<void> = () => {}) {
  const { statefulSets: sets } = filledWatches()
  const clock = new ManualClock()
  const log = keepingLog()
  const calls: unknown[] = []
  scaler = new Scaler({
    ...{ sets, clock, log },
    kube: {
      patch: async ({ name, uid }, { spec }, { resourceVersion } = {}) => {
        calls.push([name, uid, resourceVersion, spec])
        await patch(name)
        return null
      },
    },
  })
  const pass = async (ms = 0) => {
    clock.advance(ms)
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  return { sets, calls, clock, log, pass }
}

it('Scaler keeps no replica while it is stopped, and one else, by the version that it saw', async () => {
  const { sets, calls, pass } = start()
  sets.show(labelledSet(stopped), labelledSet({ name: 'asleep', uid: 'u2' }, { replicas: 0 }))
  sets.show(
    labelledSet({ name: 'fine', uid: 'u3' }),
    labelledSet({ name: 'off', uid: 'u4', ...stopped }, { replicas: 0 }),
  )
  scaler.start()
  await pass()
  expect(calls).toEqual([
    ['blue', 'set', '1', { replicas: 0 }],
    ['asleep', 'u2', '1', { replicas: 1 }],
  ])
  sets.show(labelledSet({ resourceVersion: '2', annotations: {} }, { replicas: 0 }))
  await pass()
  expect(calls.at(-1)).toEqual(['blue', 'set', '2', { replicas: 1 }])
})

it('Scaler touches no set of a notebook, none without the label, and none that is being deleted', async () => {
  const { sets, calls, pass } = start()
  sets.show(setOf({ labels: { 'user.skylab/idle': 'true' }, ...stopped }))
  sets.show(labelledSet({ name: 'b', labels: { 'user.skylab/idle': 'yes' }, ...stopped }))
  sets.show(labelledSet({ name: 'c', deletionTimestamp: 'now', ...stopped }))
  scaler.start()
  await pass()
  expect(calls).toEqual([])
})

it('Scaler writes rarely when somebody else writes another number again and again', async () => {
  const { sets, calls, pass } = start()
  scaler.start()
  for (let version = 1; version <= 100; version++) {
    sets.show(labelledSet({ resourceVersion: `${version}`, ...stopped }, { replicas: 1 + (version % 2) }))
    await pass(300)
  }
  expect(calls.length).toBeGreaterThanOrEqual(5)
  expect(calls.length).toBeLessThanOrEqual(6)
})

it('Scaler lets namespaces take turns, so that one with very many sets delays no other', async () => {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const { sets, calls, pass } = start(() => held)
  const flood = Array.from({ length: 200 }, (_, i) => labelledSet({ name: `f${i}`, uid: `f${i}`, ...stopped }))
  sets.show(...flood)
  scaler.start()
  await pass()
  sets.show(labelledSet({ name: 'late', namespace: 'quiet', uid: 'late', ...stopped }))
  release()
  await pass()
  expect(calls.slice(0, 3).map(call => (call as string[])[0])).toEqual(['f0', 'f1', 'late'])
})

it('Scaler leaves a conflict to the watch, and one that is refused holds no other', async () => {
  const statuses: Record<string, number> = { conflict: 409, refused: 403 }
  const { sets, calls, pass, log } = start(name => {
    if (name in statuses) throw new KubeError(statuses[name]!, '', 'no')
  })
  for (const name of ['conflict', 'refused', 'fine']) sets.show(labelledSet({ name, uid: name, ...stopped }))
  scaler.start()
  await pass()
  expect(calls.map(call => (call as string[])[0])).toEqual(['conflict', 'refused', 'fine'])
  expect(log.messages).toEqual(['warn: StatefulSets cannot be scaled'])
  await pass(1000)
  expect(calls.map(call => (call as string[])[0]).slice(3)).toEqual(['refused'])
})
