import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { hasEnded } from '../containers/problems.ts'
import type { ContainerReach } from '../containers/service.ts'
import { Watches } from './watches.ts'

const asker = {
  caller: { username: 'ada', groups: [], scopes: [] },
  audience: 'user',
  from: {},
  requestId: 'r',
} as const
const at = (run: number): ContainerReach => ({ run, address: '127.0.0.1:1', pin: 'a' })

function site() {
  const listeners = new Map<string, () => void>()
  /** One for each read: how it is answered. */
  const reads: PromiseWithResolvers<ContainerReach>[] = []
  const watches = new Watches({
    containers: {
      reach: () => {
        reads.push(Promise.withResolvers())
        return reads.at(-1)!.promise
      },
    },
    onMore: (uuid, listener) => {
      expect(listeners.has(uuid)).toBe(false)
      listeners.set(uuid, listener)
      return () => listeners.delete(uuid)
    },
  })
  const watcher = (run?: number) => {
    const state = {
      ...{ asker, run, isOver: false },
      over: () => {
        state.isOver = true
      },
    }
    return state
  }
  return { watches, reads, listeners, watcher, change: (uuid = 'u') => listeners.get(uuid)!() }
}

it('a watch reads once for everybody when its container changes, and once more when it changes meanwhile', async () => {
  const { watches, reads, watcher, change } = site()
  const all = Array.from({ length: 30 }, () => watcher(7))
  for (const each of all) watches.enter('u', each)
  for (let i = 0; i < 20; i++) change()
  expect(reads).toHaveLength(1)
  reads[0]!.resolve(at(7))
  await setImmediate()
  expect(reads).toHaveLength(2)
  reads[1]!.reject(hasEnded())
  await setImmediate()
  expect(reads).toHaveLength(2)
  expect(all.every(({ isOver }) => isOver)).toBe(true)
})

it('a watch tells nobody that a run is over when nothing is known', async () => {
  const { watches, reads, watcher, change } = site()
  const one = watcher(7)
  watches.enter('u', one)
  change()
  reads[0]!.reject(new RetryLater('Redis does not answer'))
  await setImmediate()
  expect(one.isOver).toBe(false)
  change()
  reads[1]!.resolve(at(8))
  await setImmediate()
  expect(one.isOver).toBe(true)
})

it('a watch says nothing about somebody who came in when its question was already asked', async () => {
  const { watches, reads, watcher, change } = site()
  const [before, after] = [watcher(7), watcher()]
  for (const each of [before, after]) watches.enter('u', each)
  change()
  after.run = 8
  reads[0]!.resolve(at(9))
  await setImmediate()
  expect([before.isOver, after.isOver]).toEqual([true, false])
})

it('a watch asks about its own container alone, and ends with the last one inside', async () => {
  const { watches, reads, listeners, watcher, change } = site()
  const leaves = ['u', 'u', 'v'].map(uuid => watches.enter(uuid, watcher(7)).leave)
  change('v')
  expect(reads).toHaveLength(1)
  leaves[0]!()
  expect([...listeners.keys()]).toEqual(['u', 'v'])
  for (const leave of leaves.slice(1)) leave()
  expect(listeners.size).toBe(0)
  reads[0]!.reject(hasEnded())
  await setImmediate()
  watches.enter('u', watcher(7))
  expect(listeners.size).toBe(1)
})
