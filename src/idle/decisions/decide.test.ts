import { describe, expect, it } from 'vitest'
import { busy, History, idleSince, ruleWith, startMs, unreachable } from '../testing/history.ts'
import { decide } from './decide.ts'

const hour = { idleTimeoutSeconds: 3600, warnSeconds: 600 }
const minutes = (count: number) => count * 60_000

/** A history whose workload was seen first at the start, and is idle since. */
function idleHistory(rule: object = hour): History {
  const history = new History(ruleWith(rule))
  history.look(idleSince())
  return history
}

const lookAfter = (history: History, ms: number, look = idleSince()) => {
  history.nowMs += ms
  return history.look(look).decision
}
const eventsOf = ({ events }: { readonly events: readonly { readonly event: string; readonly data: string }[] }) =>
  events.map(({ event, data }) => [event, JSON.parse(data)])

describe('decide about the latest activity', () => {
  it('begins with now at the first sight, whatever the look shows', () => {
    const { decision } = new History(ruleWith(hour)).look(idleSince(minutes(600)))
    expect(decision).toMatchObject({ state: 'active', stop: undefined, activity: { lastMs: startMs, source: '' } })
  })

  it('takes a request to keep it from the annotation when Redis forgot it, if no request could reach further', () => {
    const keptUntil = (keepMs: number) => {
      const history = new History(ruleWith(hour))
      const { input } = history.look(idleSince())
      return decide({ ...input, byHand: { lastMs: undefined, keepMs } }).activity.keepMs - startMs
    }
    expect(keptUntil(startMs + minutes(24 * 60))).toBe(minutes(24 * 60))
    expect(keptUntil(startMs + minutes(24 * 60) + 1)).toBe(-startMs)
    expect(keptUntil(startMs - 1)).toBe(-startMs)
  })

  it('is now while it is busy, and the newest that the look shows else', () => {
    const history = idleHistory()
    expect(lookAfter(history, minutes(30), busy).activity).toMatchObject({ lastMs: history.nowMs, source: 'kernels' })
    expect(lookAfter(history, minutes(30), idleSince(minutes(10))).activity.lastMs).toBe(history.nowMs - minutes(10))
    expect(lookAfter(history, minutes(1), idleSince(minutes(50))).activity.lastMs).toBe(history.nowMs - minutes(11))
  })

  it('is the annotation when a person wrote a newer one that is not ahead', () => {
    const history = idleHistory()
    history.nowMs += minutes(40)
    history.byHandMs = history.nowMs + 1000
    expect(history.look(idleSince()).decision.activity).toMatchObject({ lastMs: startMs, source: '' })
    history.byHandMs = history.nowMs - minutes(1)
    expect(history.look(idleSince()).decision.activity).toMatchObject({ source: 'annotation' })
  })

  it('never counts from before the floor', () => {
    const history = idleHistory()
    history.step({ do: 'raiseFloor', afterMs: minutes(70) })
    expect(lookAfter(history, minutes(1))).toMatchObject({
      stop: undefined,
      eligibleMs: history.floorMs + minutes(60) + 1,
    })
  })
})

describe('decide about warnings', () => {
  it('warns once, before the stop, with the time', () => {
    const history = idleHistory()
    const eligibleAfter = '2026-11-24T11:01:00.000Z'
    const decision = lookAfter(history, minutes(51))
    expect(eventsOf(decision)).toEqual([['warning', { rule: 'r', why: 'idle', eligibleAfter }]])
    expect(decision).toMatchObject({ state: 'warned', nextInMs: minutes(5), notice: { event: 'warning', why: 'idle' } })
    expect(lookAfter(history, minutes(1)).events).toEqual([])
  })

  it('gives the whole time of a warning when a rule was shortened', () => {
    const history = idleHistory({ idleTimeoutSeconds: 86_400 })
    history.step({ do: 'rule', afterMs: minutes(300), rule: ruleWith(hour) })
    expect(history.look(idleSince()).decision).toMatchObject({
      stop: undefined,
      eligibleMs: history.nowMs + minutes(10),
    })
    expect(lookAfter(history, minutes(10) - 1).stop).toBeUndefined()
    expect(lookAfter(history, 1).stop).toEqual({ why: 'idle', afterMs: minutes(60), rule: 'r' })
  })

  it.each<[string, (history: History) => void]>([
    ['it is kept on request', history => history.step({ do: 'keep', afterMs: 0, forMs: minutes(120) })],
    [
      'its rule is longer now',
      history => history.step({ do: 'rule', afterMs: 0, rule: ruleWith({ idleTimeoutSeconds: 86_400 }) }),
    ],
    ['the floor was raised', history => history.step({ do: 'raiseFloor', afterMs: 0 })],
  ])('withdraws one when %s', (_, change) => {
    const history = idleHistory()
    lookAfter(history, minutes(51))
    change(history)
    const decision = lookAfter(history, minutes(1))
    expect(eventsOf(decision)).toEqual([['kept', { rule: 'r', why: 'idle' }]])
    expect(decision.activity.warnedMs).toBe(0)
  })

  it('withdraws one when it is used, and warns anew later', () => {
    const history = idleHistory()
    lookAfter(history, minutes(51))
    expect(lookAfter(history, minutes(1), busy).notice?.event).toBe('kept')
    expect(lookAfter(history, minutes(55), idleSince(minutes(55))).notice?.event).toBe('warning')
  })

  it('leaves one when a single look has no answer, and withdraws it when that lasts', () => {
    const history = idleHistory()
    lookAfter(history, minutes(51))
    expect(lookAfter(history, minutes(1), unreachable)).toMatchObject({ notice: undefined, state: 'unknown' })
    expect(lookAfter(history, minutes(61), unreachable).notice?.event).toBe('kept')
  })

  it('gives none when the rule has none', () => {
    const history = idleHistory({ ...hour, warnSeconds: 0 })
    expect(lookAfter(history, minutes(60)).stop).toBeUndefined()
    expect(lookAfter(history, 1)).toMatchObject({ stop: { why: 'idle' }, events: [] })
  })
})

describe('decide about what gives no answer', () => {
  it('tells it once when it lasts, and once when it is over, and stops nobody', () => {
    const history = idleHistory()
    const failing = [1, 30, 31, 60].map(count => lookAfter(history, minutes(count), unreachable))
    const since = '2026-11-24T10:01:00.000Z'
    const unreachableEvent = ['unreachable', { rule: 'r', since, why: 'unreachable', words: 'it does not answer' }]
    expect(failing.map(eventsOf)).toEqual([[], [], [unreachableEvent], []])
    expect(failing.map(({ stop }) => stop)).toEqual([undefined, undefined, undefined, undefined])
    const { events, stop } = lookAfter(history, minutes(1))
    expect(eventsOf({ events }).map(([event]) => event)).toContain('reachable')
    expect(stop).toBeUndefined()
  })

  it('asks it less and less often, up to the slowest period', () => {
    const history = idleHistory({ ...hour, unreachable: { afterSeconds: 90_000 } })
    const next = Array.from({ length: 6 }, () => lookAfter(history, minutes(1), unreachable).nextInMs / 60_000)
    expect(next).toEqual([1, 2, 4, 8, 10, 10])
  })

  it('stops it for its age', () => {
    const history = idleHistory({ maxAgeSeconds: 7200, warnSeconds: 0 })
    expect(lookAfter(history, minutes(121), unreachable).stop?.why).toBe('age')
  })

  it('waits for gateways that have not reported, if the rule listens to traffic and the kind has any', () => {
    const history = idleHistory({ ...hour, warnSeconds: 0 })
    history.nowMs += minutes(60)
    const decided = (...more: [boolean, 'traffic'[]?]) => history.look(idleSince(), ...more).decision
    // Nothing holds what would not be stopped.
    expect(decided(true)).toMatchObject({ stop: undefined, state: 'unknown', heldBy: undefined })
    history.nowMs += minutes(1)
    expect(decided(true)).toMatchObject({ stop: undefined, state: 'unknown', nextInMs: 60_000, heldBy: 'traffic' })
    expect(decided(true, ['traffic'])).toMatchObject({ stop: { why: 'idle' }, heldBy: undefined })
    expect(decided(false).stop?.why).toBe('idle')
    history.rule = ruleWith({ ...hour, warnSeconds: 0, sources: ['kernels'] })
    expect(decided(true).stop?.why).toBe('idle')
  })

  it('waits for a measurement by this rule that is not old, if the rule goes by what pods use', () => {
    const history = idleHistory({ ...hour, warnSeconds: 0, sources: ['kernels', 'cpu'], cpu: { millicores: 100 } })
    history.nowMs += minutes(61)
    const decided = (agoMs: number, rule = 'r') =>
      history.look(idleSince(), false, [], { atMs: history.nowMs - agoMs, rule }).decision
    expect(history.look(idleSince()).decision).toMatchObject({ stop: undefined, state: 'unknown', heldBy: 'cpu' })
    expect(decided(180_001)).toMatchObject({ stop: undefined, heldBy: 'cpu' })
    expect(decided(-1)).toMatchObject({ stop: undefined, heldBy: 'cpu' })
    expect(decided(0, 'former')).toMatchObject({ stop: undefined, heldBy: 'cpu' })
    expect(decided(180_000)).toMatchObject({ stop: { why: 'idle' }, heldBy: undefined })
  })

  it('counts a workload of untold traffic as active when somebody reports its use', () => {
    const history = idleHistory({ ...hour, warnSeconds: 0 })
    history.nowMs += minutes(61)
    expect(history.look(busy, true).decision).toMatchObject({
      stop: undefined,
      activity: { lastMs: history.nowMs },
      heldBy: undefined,
    })
  })
})

describe('decide about age', () => {
  it('believes the clock that shows the lower one', () => {
    const history = idleHistory({ maxAgeSeconds: 7200, warnSeconds: 0 })
    history.nowMs += minutes(180)
    const { input } = history.look(busy)
    const stopOf = (wallMs: number) => decide({ ...input, wallMs }).stop?.why
    expect([stopOf(history.nowMs), stopOf(history.nowMs - minutes(60)), stopOf(history.nowMs - minutes(59))]).toEqual([
      'age',
      undefined,
      'age',
    ])
  })

  it('ends a request to be kept', () => {
    const history = idleHistory({ maxAgeSeconds: 7200, warnSeconds: 0 })
    history.step({ do: 'keep', afterMs: 0, forMs: minutes(600) })
    expect(lookAfter(history, minutes(121), busy).stop?.why).toBe('age')
  })
})

describe('decide without a rule', () => {
  it('stops nobody, and withdraws a warning', () => {
    const history = idleHistory()
    lookAfter(history, minutes(51))
    const { input } = history.look(idleSince())
    const { stop, nextInMs, eligibleMs, notice, state } = decide({ ...input, rule: undefined })
    expect([stop, nextInMs, eligibleMs, notice?.event, state]).toEqual([
      undefined,
      300_000,
      undefined,
      'kept',
      'unknown',
    ])
  })
})
