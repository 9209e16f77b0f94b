import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { RetryLater } from '../base/errors.ts'
import { FakeLeases } from '../reconcile/testing/samples.ts'
import type { EndedRun } from '../store/dispatch/ended.ts'
import type { Amount } from './amount.ts'
import { AmountSender } from './amounts.ts'
import { TableTrouble } from './table.ts'

/** Ended containers and a table, of which every replica sees the same. */
class Scene {
  readonly clock = new ManualClock()
  readonly log = keepingLog()
  readonly leases = new FakeLeases()
  ended: EndedRun[] = []
  /** By container, as a key makes it. */
  readonly lines = new Map<string, Amount>()
  /** Containers of each call. */
  readonly calls: number[] = []
  readonly results: string[] = []
  reads = 0
  trouble: Error | undefined
  refuses: string | undefined
  readonly #senders: AmountSender[] = []

  sender(): AmountSender {
    const sender = new AmountSender({
      ...{ clock: this.clock, log: this.log, leases: this.leases, lease: 'amounts', nobody: 'default' },
      ended: {
        from: async (ms, limit) => {
          this.reads += 1
          return this.ended.filter(({ endedMs }) => endedMs >= ms).slice(0, limit)
        },
      },
      table: {
        add: async amounts => {
          if (this.trouble) throw this.trouble
          this.calls.push(amounts.length)
          const refused = amounts.filter(({ container }) => container === this.refuses)
          for (const each of amounts) if (!refused.includes(each)) this.lines.set(each.container, each)
          return refused
        },
        rest: () => {},
      },
      onSent: (count, result) => count > 0 && this.results.push(`${count} ${result}`),
      onFailed: reason => this.results.push(reason),
    })
    this.#senders.push(sender)
    sender.start()
    return sender
  }

  end(more: Partial<EndedRun> = {}): void {
    const number = this.ended.length + 1
    const run = { startedMs: 1, finishedMs: 3_600_001, pricePerHour: 0.5, cost: 0.5, instanceType: 'small' }
    this.ended.push({ uuid: `c${number}`, endedMs: number, tenant: 'blue', ...run, ...more })
  }

  async pass(ms = 1_000): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      this.clock.advance(Math.min(100, left))
      for (let i = 0; i < 5; i += 1) await new Promise(resolve => setImmediate(resolve))
    }
  }

  async stop(): Promise<void> {
    for (const sender of this.#senders) await sender.stop()
  }
}

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.stop())

test('an end is written soon when it is heard of, with what the container cost', async () => {
  const sender = scene.sender()
  await scene.pass()
  scene.end()
  sender.wake()
  await scene.pass()
  expect([...scene.lines.values()]).toEqual([
    {
      ...{ container: 'c1', tenant: 'blue', instanceType: 'small' },
      ...{ pricePerHour: 0.5, startedMs: 1, finishedMs: 3_600_001, cost: 0.5 },
    },
  ])
  expect(scene.results).toEqual(['1 sent'])
})

test('Redis is not asked again for a minute when no end is heard of', async () => {
  scene.sender()
  await scene.pass()
  const { reads } = scene
  await scene.pass(30_000)
  expect(scene.reads).toBe(reads)
  scene.end()
  await scene.pass(40_000)
  expect(scene.lines.size).toBe(1)
})

test('nothing is written of who is in no LNamespace, nor of what never began', async () => {
  scene.end({ tenant: 'default' })
  scene.end({ startedMs: 0 })
  scene.end()
  scene.sender()
  await scene.pass()
  expect([...scene.lines.keys()]).toEqual(['c3'])
})

test('each is sent once when many end, also in one millisecond', async () => {
  for (let i = 0; i < 700; i += 1) scene.end({ endedMs: i < 450 ? 7 : 8 })
  const sender = scene.sender()
  await scene.pass()
  scene.end({ endedMs: 8 })
  sender.wake()
  await scene.pass()
  expect(scene.lines.size).toBe(701)
  expect(scene.calls.reduce((sum, count) => sum + count, 0)).toBe(701)
})

test('all waits while the database is away, and is written when it is back', async () => {
  scene.trouble = new TableTrouble('Unreachable', 'nothing listens')
  scene.end()
  scene.sender()
  await scene.pass()
  expect([scene.lines.size, scene.results[0]]).toEqual([0, 'Unreachable'])
  scene.trouble = undefined
  await scene.pass(10_000)
  expect(scene.lines.size).toBe(1)
})

test('one that is refused keeps no other', async () => {
  scene.end()
  scene.end()
  scene.refuses = 'c1'
  scene.sender()
  await scene.pass()
  expect([...scene.lines.keys()]).toEqual(['c2'])
  expect(scene.results).toEqual(['1 sent', '1 refused'])
})

test('one replica sends, and its heir writes the same lines again', async () => {
  const first = scene.sender()
  await scene.pass()
  scene.sender()
  scene.end()
  await scene.pass(70_000)
  expect(scene.calls).toEqual([1])
  await first.stop()
  await scene.pass(10_000)
  expect([scene.calls, scene.lines.size]).toEqual([[1, 1], 1])
})

test('all that Redis has is written again when its data may have been lost', async () => {
  const sender = scene.sender()
  scene.end({ endedMs: 900 })
  await scene.pass()
  scene.ended = []
  scene.end({ uuid: 'c9', endedMs: 3 })
  sender.again()
  await scene.pass()
  expect([...scene.lines.keys()]).toEqual(['c1', 'c9'])
})

test('all waits while Redis does not answer', async () => {
  scene.trouble = new RetryLater('comparing')
  scene.end()
  scene.sender()
  await scene.pass()
  scene.trouble = undefined
  await scene.pass(10_000)
  expect(scene.lines.size).toBe(1)
})
