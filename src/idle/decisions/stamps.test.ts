import { describe, expect, it } from 'vitest'
import { stampOf } from '../../kube/labels.ts'
import { History, idleSince, ruleWith, startMs } from '../testing/history.ts'
import { type Checked, isStillDue, stampsAfter, timeOf, unreadable, withoutActivity } from './stamps.ts'

const last = 'notebooks.kubeflow.org/last-activity'
const checked = 'notebooks.kubeflow.org/last_activity_check_timestamp'
const keepUntil = 'user.skylab/keep-until'

const { activity } = new History(ruleWith({})).look(idleSince()).decision
const minutes = (count: number) => count * 60_000
const nowMs = startMs + minutes(30)
const at = (count: number) => stampOf(startMs + minutes(count))
const stood = { lastActivity: at(0), checked: at(29) }

const checkedOf = (more: Partial<Checked>): Checked => ({
  ...{ policy: 'onchange', now: stood, activity: { ...activity, checkedMs: nowMs }, nowMs, noticed: false },
  startedMs: startMs,
  ...more,
})
const stampsOf = (more: Partial<Checked>) => stampsAfter(checkedOf(more))
const both = { [last]: at(0), [checked]: at(30) }

describe('stampsAfter', () => {
  it.each<[string, Partial<Checked>]>([
    ['the policy is always', { policy: 'always' }],
    ['there are none, and it started five minutes ago', { now: {}, startedMs: nowMs - minutes(5) }],
    ['there are none, and nobody knows when it started', { now: {}, startedMs: undefined }],
    ['there are none, and it started later than now', { now: {}, startedMs: nowMs + 1 }],
    ['there is one, and it started now', { now: { lastActivity: at(0) }, startedMs: nowMs }],
    ['there are none, it started now, and each look is to be written', { now: {}, startedMs: nowMs, policy: 'always' }],
    ['there are none, it started now, and its owner is warned', { now: {}, startedMs: nowMs, noticed: true }],
    ['one cannot be read', { now: { ...stood, lastActivity: 'yesterday' } }],
    ['the last look that they show is an hour ago', { now: { ...stood, checked: at(-30) } }],
    ['they show a later activity than now', { now: { ...stood, lastActivity: at(90) } }],
    ['its owner is warned', { noticed: true }],
  ])('writes both when %s', (_, more) => {
    expect(stampsOf(more)).toEqual(both)
  })

  it('writes both when activity moved by five minutes, and nothing before', () => {
    const moved = (ms: number) => stampsOf({ activity: { ...activity, lastMs: startMs + ms, checkedMs: nowMs } })
    expect(moved(minutes(5))).toEqual({ [last]: at(5), [checked]: at(30) })
    expect(moved(minutes(5) - 1)).toBeUndefined()
  })

  it.each([0, minutes(5) - 1])('writes nothing when there are none, and it started %i ms ago', ageMs => {
    expect(stampsOf({ now: {}, startedMs: nowMs - ageMs })).toBeUndefined()
  })

  it('writes until when it is kept, of one that has just started', () => {
    const kept = { ...activity, checkedMs: nowMs, keepMs: nowMs + minutes(60) }
    expect(stampsOf({ activity: kept, now: {}, startedMs: nowMs })).toEqual({ ...both, [keepUntil]: at(90) })
  })

  it('writes nothing when they are off, whatever stands there', () => {
    expect(stampsOf({ policy: 'off', now: {}, noticed: true })).toBeUndefined()
  })

  it('writes until when it is kept, and removes that when it is over', () => {
    const kept = { ...activity, checkedMs: nowMs, keepMs: nowMs + minutes(60) }
    expect(stampsOf({ activity: kept })).toEqual({ ...both, [keepUntil]: at(90) })
    expect(stampsOf({ activity: kept, now: { ...stood, keepUntil: at(90) } })).toBeUndefined()
    expect(stampsOf({ now: { ...stood, keepUntil: at(20) } })).toEqual({ ...both, [keepUntil]: null })
  })
})

describe('isStillDue', () => {
  const later = { lastActivity: at(31), checked: at(31) }
  const kept = { ...activity, checkedMs: nowMs, keepMs: nowMs + minutes(60) }

  it.each<[boolean, string, Partial<Checked>]>([
    [true, 'there are still none', { now: {} }],
    [false, 'the look before has written them', { now: stood }],
    [true, 'the look before has written them, and each look is to be written', { now: stood, policy: 'always' }],
    [false, 'a later look has written them', { now: later }],
    [false, 'a later look has written them, of each', { now: later, policy: 'always' }],
    [false, 'a later look has written them, and its owner was warned', { now: later, noticed: true }],
    [true, 'a later look has written all but until when it is kept', { now: later, activity: kept }],
    [true, 'they show a look of another day', { now: { ...stood, checked: at(24 * 60) } }],
  ])('says %s when %s', (isDue, _, more) => {
    expect(isStillDue(checkedOf(more))).toBe(isDue)
  })
})

describe('timeOf', () => {
  it.each([
    ['2024-08-14T03:25:26.278627Z', 1_723_605_926_278],
    ['2024-08-14T05:25:26+02:00', 1_723_605_926_000],
    ['2024-08-14', undefined],
    ['2024-13-14T03:25:26Z', undefined],
    ['now', undefined],
    ['', undefined],
  ])('reads %s', (text, ms) => {
    expect(timeOf(text)).toBe(ms)
  })
})

it('unreadable names the annotations that are no times', () => {
  expect(unreadable({ lastActivity: 'x', checked: at(1), keepUntil: '2099' })).toEqual([last, keepUntil])
})

it('withoutActivity removes both times where one stands', () => {
  expect(withoutActivity({ checked: at(1), keepUntil: at(2) })).toEqual({ [last]: null, [checked]: null })
  expect(withoutActivity({ keepUntil: at(2) })).toBeUndefined()
})
