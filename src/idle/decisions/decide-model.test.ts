/** Random histories of a workload against a small reference of what may ever happen. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { busy, History, idleSince, ruleWith, type Step, startMs, unreachable } from '../testing/history.ts'

/** What a rule does with a workload that gives no answer. */
const whenUnreachable = ([afterSeconds, action]: [number, string]) =>
  Object.fromEntries([
    ['afterSeconds', afterSeconds],
    ['then', action],
  ])

const seconds = (max: number) => fc.integer({ min: 1, max })
const rules = fc
  .record({
    idleTimeoutSeconds: fc.option(seconds(2000), { nil: undefined }),
    maxAgeSeconds: fc.option(seconds(9000), { nil: undefined }),
    warnSeconds: fc.constantFrom(0, 1, 60, 600),
    unreachable: fc.tuple(seconds(1000), fc.constantFrom('report', 'stop')).map(whenUnreachable),
  })
  .map(ruleWith)

const afterMs = fc.oneof(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 4_000_000 }))
const looks = fc.oneof(
  { weight: 6, arbitrary: fc.option(fc.integer({ min: -1000, max: 5_000_000 }), { nil: undefined }).map(idleSince) },
  { weight: 1, arbitrary: fc.constant(busy) },
  { weight: 4, arbitrary: fc.constantFrom(unreachable, { kind: 'denied', words: 'it answers 403' } as const) },
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('look' as const), afterMs, look: looks, untold: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('touch', 'newPod', 'raiseFloor'), afterMs }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('keep' as const), afterMs, forMs: fc.integer({ min: 0, max: 9_000_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rule' as const), afterMs, rule: rules }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('annotate' as const),
      afterMs,
      aheadMs: fc.integer({ min: -4_000_000, max: 4_000_000 }),
    }),
  },
)

describe('decide, in any history', () => {
  test('stops nobody whom the reference would not, and never forgets activity', () => {
    const stops = { idle: 0, age: 0, unreachable: 0 }
    fc.assert(
      fc.property(rules, fc.array(steps, { size: 'max', minLength: 10, maxLength: 60 }), (rule, list) => {
        const history = new History(rule)
        for (const step of list) {
          const warnedMs = history.warnedMs
          const decided = history.step(step)
          if (decided) check(history, decided, warnedMs)
          if (decided?.decision.stop) stops[decided.decision.stop.why]++
        }
      }),
      { numRuns: 300 },
    )
    // The histories reach what they are about.
    for (const count of Object.values(stops)) expect(count).toBeGreaterThan(20)
  })
})

function check(
  history: History,
  { input, decision }: NonNullable<ReturnType<History['step']>>,
  warnedMs: number | undefined,
): void {
  const { nowMs, rule, trueLastMs, floorMs, keepMs, startedMs, failingSinceMs } = history
  const { activity, stop, nextInMs } = decision
  // K5: exact, so it neither falls, nor is ahead, nor survives a pod.
  expect(activity.lastMs).toBe(trueLastMs)
  expect(activity.lastMs).toBeLessThanOrEqual(nowMs)
  expect(nextInMs).toBeGreaterThan(0)
  expect(nextInMs).toBeLessThanOrEqual(600_000)
  if (!stop) return
  if (rule.warnSeconds > 0) expect(nowMs - warnedMs!).toBeGreaterThanOrEqual(rule.warnSeconds * 1000)
  if (stop.why === 'age') {
    expect(nowMs - startedMs).toBeGreaterThan(rule.maxAgeSeconds! * 1000)
    return
  }
  expect(keepMs).toBeLessThanOrEqual(nowMs)
  if (stop.why === 'idle') {
    expect(input.look).toMatchObject({ kind: 'seen', busy: false })
    expect(input.read.trafficIsUntold).toBe(false)
    expect(nowMs - Math.max(trueLastMs, floorMs)).toBeGreaterThan(rule.idleTimeoutSeconds! * 1000)
  } else {
    expect(rule.unreachable.then).toBe('stop')
    expect(nowMs - Math.max(failingSinceMs!, floorMs, trueLastMs)).toBeGreaterThanOrEqual(
      rule.unreachable.afterSeconds * 1000,
    )
  }
}

describe('decide, followed at each next check', () => {
  /** Looks whenever the last decision said so, until a stop. */
  function follow(history: History, look: () => Parameters<History['look']>[0]) {
    const events: [event: string, atMs: number][] = []
    for (let checks = 0; checks < 5000; checks++) {
      const { decision } = history.look(look())
      for (const { event } of decision.events) events.push([event, history.nowMs - startMs])
      if (decision.stop) return { why: decision.stop.why, atMs: history.nowMs - startMs, events }
      history.nowMs += decision.nextInMs
    }
    throw new Error('it is never stopped')
  }

  test('warns and stops at the exact times, whatever the rule', () => {
    fc.assert(
      fc.property(seconds(5000), fc.constantFrom(0, 1, 60, 600), (timeout, warn) => {
        fc.pre(warn < timeout)
        const history = new History(ruleWith({ idleTimeoutSeconds: timeout, warnSeconds: warn }))
        const found = follow(history, () => idleSince())
        const eligible = timeout * 1000 + 1
        expect(found).toEqual({
          why: 'idle',
          atMs: eligible,
          events: warn === 0 ? [] : [['warning', eligible - warn * 1000]],
        })
      }),
      { numRuns: 300 },
    )
  })

  test('stops at the end of its age when it is busy all the time', () => {
    const history = new History(ruleWith({ idleTimeoutSeconds: 3600, maxAgeSeconds: 7200 }))
    expect(follow(history, () => busy)).toEqual({ why: 'age', atMs: 7_200_001, events: [['warning', 6_600_001]] })
  })

  test('stops what gives no answer at the exact time, if the rule says so', () => {
    const history = new History(
      ruleWith({ idleTimeoutSeconds: 60, warnSeconds: 10, unreachable: whenUnreachable([3600, 'stop']) }),
    )
    const { why, atMs, events } = follow(history, () => unreachable)
    expect([why, atMs]).toEqual(['unreachable', 3_600_000])
    expect(events).toContainEqual(['unreachable', 3_600_000])
  })
})
