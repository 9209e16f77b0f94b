import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { sampleParent as parent } from '../../test/kit/reconcile/sample.ts'
import { TurnLimit } from './limit.ts'
import { newMemory } from './memory.ts'
import { Reader } from './reader.ts'
import { object, wish } from './testing/plans.ts'

test('Reader reads 50 parents at most when a shared object is in doubt for more', async () => {
  const clock = new ManualClock()
  const read: string[] = []
  const writer = { readName: async ({ name }: { name: string }) => void read.push(name) }
  const reader = new Reader({ parent, memory: newMemory(), writer, clock, limit: new TurnLimit(clock, 1_000) })
  const owners = Array.from({ length: 60 }, (_, i) => ({ ...parent, name: `s${i}`, uid: `uid-${i}` }))
  const wanted = object('shared', {}, owners)
  const verdict = { do: 'hold', parent: 'shared', objects: [wish(wanted)], standing: [] } as const
  await reader.parents({ verdict, acts: [{ act: 'create', stage: 0, object: wanted }], wish: 'w' })
  expect(read).toEqual(owners.slice(0, 50).map(({ name }) => name))
})
