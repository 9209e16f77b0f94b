import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { needOf, someRules, typeOf } from '../dispatch/testing/world.ts'
import type { Decision, NewMachine, Outcome, Reading } from '../store/dispatch/scheduling.ts'
import { silentLogger } from '../telemetry/log.ts'
import { type PassReport, Scheduler } from './scheduler.ts'
import { briefOf, groupOf, nowMs, offeredTypes, readingOf, uuidOf, waits } from './testing/reading.ts'

/** Resolves when all work that needs no clock is done. */
async function settled() {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate)
}

interface Script {
  readings?: (Reading | null)[]
  outcome?: (decision: Decision) => Outcome
  /** Another replica has the lease. */
  isTaken?: boolean
  lost?: 'before write'
  pollMs?: number
  /** When what runs was too much, by pass. */
  overloads?: number[]
}

/** A scheduler whose Redis gives the readings in turn, and the last of them for ever. */
function schedulerOf(script: Script) {
  const clock = new ManualClock()
  const { readings = [readingOf({ groups: [] })] } = script
  const log: string[] = []
  const seen = {
    decisions: [] as Decision[],
    sentences: [] as string[][],
    passes: [] as PassReport[],
    limits: [] as number[],
  }
  const gate = { at: '', opened: Promise.withResolvers<void>() }
  const store = {
    watch: async () => 0,
    read: async () => {
      log.push('read')
      return readings.length > 1 ? readings.shift()! : readings[0]!
    },
    draw: async (count: number) => ({ names: Array.from({ length: count }, (_, i) => `n${i}`), keyId: 'key' }),
    write: async (_: string, decisions: readonly Decision[]) => {
      if (script.lost) return null
      seen.decisions.push(...decisions)
      return decisions.map(script.outcome ?? (() => 'done' as const))
    },
    explain: async (_: string, sentences: ReadonlyMap<string, string>) => {
      seen.sentences.push([...sentences].flat())
      return true
    },
  }
  const release = async () => void log.push('released')
  const scheduler = new Scheduler({
    ...{ clock, store, lease: 'lease', log: silentLogger(), pollMs: script.pollMs ?? 10_000, scanMs: 2_000 },
    leases: { acquireTask: async () => (script.isTaken ? null : { token: 'token', release }) },
    pool: { types: offeredTypes, rules: someRules },
    sealer: { ids: 'key', seal: (text, name, nonce, keyId) => [text, name, nonce, keyId].join('|') },
    offerOf: type => ({ ...typeOf(type, 1, 3), providerType: `t.${type}` }),
    lifeMs: 1000,
    initialQuotaEstimate: 0,
    overloadedMs: async () => script.overloads?.shift() ?? 0,
    onPass: report => void seen.passes.push(report),
    failpoint: place => (place === gate.at ? gate.opened.promise : undefined),
  })
  onTestFinished(async () => {
    gate.opened.resolve()
    await scheduler.stop()
  })
  scheduler.start()
  return { clock, scheduler, seen, log, gate }
}

const ring = (kind: string) => ({ what: 'ended' as const, subject: { kind, name: 'x' } })
const waiting = () => readingOf({ queue: [waits(5)] })
const idle = briefOf('m', { sinceMs: nowMs, version: 8 })

describe('Scheduler', () => {
  it('writes what it decided, for the versions that it read', async () => {
    const { seen, clock } = schedulerOf({
      readings: [readingOf({ queue: [waits(5, { version: 2 })], machines: [idle] })],
    })
    await clock.sleepBetween(100, 100)
    expect(seen.decisions).toEqual([
      { what: 'assign', container: { id: uuidOf(5), version: 2 }, machine: { id: 'm', version: 8 } },
    ])
  })

  it('draws a name and seals a secret for each machine that it creates', async () => {
    const { seen, clock } = schedulerOf({ readings: [waiting(), readingOf({ groups: [] })] })
    await clock.sleepBetween(100, 100)
    const { create } = seen.decisions[0] as { create: NewMachine }
    expect(create).toMatchObject({ name: 'n0', type: 'small', providerType: 't.small', price: 3, tenant: 'default' })
    expect(create.sealedPlan).toMatch(/^\{"secret":"[0-9a-f]{40}"\}\|instance:n0\|/)
    expect(create.sealedPlan).toMatch(new RegExp(`\\|${create.nonce}\\|key$`))
  })

  it('runs one pass for all rings of a moment, and none for those of labs', async () => {
    const { scheduler, seen, clock } = schedulerOf({})
    await clock.sleepBetween(100, 100)
    for (let i = 0; i < 9; i += 1) scheduler.hear(ring('container'))
    clock.advance(100)
    await clock.sleepBetween(100, 100)
    expect(seen.passes).toHaveLength(2)
    clock.advance(100)
    await settled()
    scheduler.hear(ring('lab'))
    await settled()
    expect(seen.passes).toHaveLength(2)
    scheduler.hear(ring('instance'))
    await clock.sleepBetween(100, 100)
    expect(seen.passes).toHaveLength(3)
  })

  it('runs no pass for the output of a container that a machine was asked to run, but one for its machine', async () => {
    const containers = [{ uuid: uuidOf(5), run: 7, supervisor: false, need: needOf(1) }]
    const { scheduler, seen, clock } = schedulerOf({ readings: [readingOf({ machines: [{ ...idle, containers }] })] })
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    const events = (kind: string, name: string) => scheduler.hear({ what: 'events', subject: { kind, name } })
    events('container', uuidOf(5))
    await settled()
    expect(seen.passes).toHaveLength(1)
    events('container', uuidOf(6))
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await settled()
    events('instance', 'm')
    await clock.sleepBetween(100, 100)
    expect(seen.passes).toHaveLength(3)
  })

  it('never runs two passes at once', async () => {
    const { scheduler, log, gate, clock } = schedulerOf({})
    await clock.sleepBetween(100, 100)
    gate.at = 'schedule.read'
    clock.advance(100)
    scheduler.wake()
    await settled()
    scheduler.wake()
    await settled()
    expect(log).toEqual(['read', 'read'])
  })

  it('runs another pass soon when something changed, and rests longer when that goes on', async () => {
    const { seen, clock } = schedulerOf({ readings: [waiting()], outcome: () => 'changed' })
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await clock.sleepBetween(100, 400)
    expect(seen.passes.map(({ changed, again }) => [changed, again])).toEqual([
      [1, true],
      [1, true],
    ])
    clock.advance(400)
    await clock.sleepBetween(200, 800)
    expect(seen.passes).toHaveLength(3)
  })

  it('runs a pass when its time has come, without a ring', async () => {
    const due = readingOf({ machines: [{ ...idle, sinceMs: nowMs - 57_000, probedMs: nowMs }] })
    const { clock } = schedulerOf({ readings: [due] })
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await clock.sleepBetween(2_900, 2_900)
  })

  it('runs a pass each PollInterval', async () => {
    const { clock } = schedulerOf({ pollMs: 5_000 })
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await clock.sleepBetween(4_900, 4_900)
  })

  it('tells a sentence once when it stays the same', async () => {
    const none = {
      readings: [readingOf({ queue: [waits(5)], throttle: { ...waiting().throttle, createAfterMs: nowMs + 9 } })],
    }
    const { seen, clock } = schedulerOf(none)
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await clock.sleepBetween(1, 10_000)
    clock.advance(10_000)
    await clock.sleepBetween(100, 100)
    expect(seen.passes.length).toBeGreaterThan(1)
    expect(seen.sentences).toEqual([['g', 'It waits: the cloud asked us to wait with new machines']])
  })

  it('writes nothing more when another replica has the lease', async () => {
    const { seen, log, clock } = schedulerOf({ readings: [waiting()], lost: 'before write' })
    await clock.sleepBetween(2_000, 2_000)
    expect([seen.decisions, seen.sentences, log]).toEqual([[], [], ['read', 'released']])
  })

  it('reads nothing without the lease', async () => {
    const { log, clock, scheduler } = schedulerOf({ isTaken: true })
    await clock.sleepBetween(2_000, 2_000)
    expect(log).toEqual([])
    expect(scheduler.maxContainers).toBeUndefined()
  })

  it('has a limit of containers until it stops', async () => {
    const { scheduler, clock } = schedulerOf({})
    await clock.sleepBetween(100, 100)
    expect(scheduler.maxContainers).toBe(Number.POSITIVE_INFINITY)
    await scheduler.stop()
    expect(scheduler.maxContainers).toBeUndefined()
  })

  it('leaves containers alone up to one that must wait for machines to be asked, until all were', async () => {
    const both = { groups: [groupOf({ count: 2 })], queue: [waits(5), waits(6, { queuedMs: nowMs })] }
    const readings = [readingOf({ ...both, unasked: 1 }), readingOf({ ...both, unasked: 1 }), readingOf({ ...both })]
    const outcome = (decision: Decision) =>
      'container' in decision && decision.container.id === uuidOf(5) && readings.length > 1 ? 'wait' : 'done'
    const { seen, clock, scheduler } = schedulerOf({ readings, outcome })
    await clock.sleepBetween(100, 100)
    const drafts = () => seen.decisions.splice(0).map(each => 'container' in each && each.container.id)
    expect(drafts()).toEqual([uuidOf(5), uuidOf(6)])
    for (const expected of [[uuidOf(6)], [uuidOf(5), uuidOf(6)]]) {
      scheduler.wake()
      clock.advance(100)
      await clock.sleepBetween(100, 100)
      expect(drafts()).toEqual(expected)
    }
  })

  it('bounds what runs below that when it was too much, once for each overload, and for a minute', async () => {
    const sent = (op: number) => ({ uuid: uuidOf(op), run: 1, supervisor: false, need: needOf(1) })
    const machines = [briefOf('a', { containers: [sent(1), sent(2)] }), briefOf('b', { containers: [sent(3)] })]
    const at = (ms: number) => readingOf({ machines, nowMs: ms })
    const { seen, clock, scheduler } = schedulerOf({
      readings: [at(nowMs), at(nowMs + 1), at(nowMs + 60_001)],
      overloads: [nowMs, nowMs, nowMs],
    })
    const limits: (number | undefined)[] = []
    for (const passes of [1, 2, 3]) {
      await clock.sleepBetween(100, 100)
      expect(seen.passes).toHaveLength(passes)
      clock.advance(100)
      await settled()
      limits.push(scheduler.maxContainers)
      scheduler.wake()
    }
    expect(limits).toEqual([2, 2, 4])
  })
})
