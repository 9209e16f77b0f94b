import { describe, expect, it } from 'vitest'
import { chosenOf, dutyOf, type Mirrored, type Ours, priorityOf, type Theirs } from './mirrored.ts'

const waiting: Ours = {
  ...{ waits: true, state: 'Queued', priority: 500, attempts: 0, startedMs: 0, finishedMs: 0, exitCode: undefined },
  ...{ trouble: '', pricePerHour: 0, cancelling: false },
}
const sent: Ours = { ...waiting, waits: false, state: 'Locked' }
const running: Ours = { ...sent, state: 'Running', startedMs: 1_000, pricePerHour: 0.5 }
const complete: Ours = { ...running, state: 'Complete', finishedMs: 3_601_000, exitCode: 3 }
const stopped: Ours = { ...sent, state: 'Cancelled', finishedMs: 2_000, trouble: 'no type fits', cancelling: true }

const locked: Theirs = { uuid: 'u', state: 'Locked', priority: 500, mine: true }
const begun: Theirs = { ...locked, state: 'Running' }
const ended: Theirs = { ...locked, state: 'Complete', mine: false }
const others: Theirs = { ...locked, mine: false }

const entry = (ours: Ours | null, back = false): Mirrored => ({ theirs: 'u', uuid: 'o', back, ours })
const update = (attributes: object) => ({ do: 'tell', telling: { what: 'update', attributes } })
const unlock = { do: 'tell', telling: { what: 'unlock' } }
const failed = (error: string) => update({ state: 'Cancelled', runtime_status: { error } })
const cost = { finished_at: '1970-01-01T01:00:01.000Z', cost: 0.5 }

describe('dutyOf', () => {
  it.each<[string, Mirrored, Theirs | null | undefined, unknown]>([
    ['nothing is owed when Arvados was not asked', entry(complete), undefined, undefined],
    ['nothing is owed when both wait', entry(waiting), locked, undefined],
    ['nothing is owed when both run', entry(running), begun, undefined],
    [
      'its start is owed first when it runs',
      entry(running),
      locked,
      update({ state: 'Running', started_at: '1970-01-01T00:00:01.000Z' }),
    ],
    [
      'its start is owed first when it has ended',
      entry(complete),
      locked,
      update({ state: 'Running', started_at: '1970-01-01T00:00:01.000Z' }),
    ],
    [
      'its end is owed when Arvados has its start',
      entry(complete),
      begun,
      update({ state: 'Complete', exit_code: 3, ...cost }),
    ],
    ['its reason is owed when it was cancelled before its start', entry(stopped), locked, failed('no type fits')],
    [
      'its reason is owed when it was cancelled as it ran',
      entry({ ...stopped, startedMs: 1_000 }),
      begun,
      update({
        state: 'Cancelled',
        runtime_status: { error: 'no type fits' },
        finished_at: '1970-01-01T00:00:02.000Z',
        cost: 0,
      }),
    ],
    ['it is given back when a machine did not begin it', entry({ ...waiting, attempts: 1 }), locked, { do: 'back' }],
    ['it is given back when nobody wants it now', entry(waiting), { ...locked, priority: 0 }, { do: 'back' }],
    ['it is unlocked when it left the queue', entry(stopped, true), locked, unlock],
    [
      'it is unlocked when it was stopped before its start since nobody wants it',
      entry(stopped),
      { ...locked, priority: 0 },
      unlock,
    ],
    [
      'it is stopped when nobody wants it any more',
      entry(running),
      { ...begun, priority: 0 },
      { do: 'prioritise', priority: 0 },
    ],
    ['its priority follows', entry(waiting), { ...locked, priority: 7 }, { do: 'prioritise', priority: 7 }],
    [
      'it is cancelled when Arvados has ended it',
      entry(running),
      ended,
      { do: 'cancel', reason: 'it is Complete in Arvados' },
    ],
    [
      'it is cancelled when Arvados has deleted it',
      entry(running),
      null,
      { do: 'cancel', reason: 'it is not in Arvados any more' },
    ],
    [
      'it is cancelled when another has its lock',
      entry(sent),
      others,
      { do: 'cancel', reason: 'it is not locked for Skylab in Arvados any more' },
    ],
    ['nothing more is asked when it is being cancelled', entry({ ...running, cancelling: true }), ended, undefined],
    [
      'it does not begin again when Redis went back behind its start',
      entry(waiting),
      begun,
      { do: 'cancel', reason: 'its run was lost' },
    ],
    ['it is forgotten when both have ended', entry(complete), ended, { do: 'forget' }],
    ['it is forgotten when its lock is gone and it has ended', entry(stopped, true), others, { do: 'forget' }],
    ['it is forgotten when Arvados has ended it and the record is gone', entry(null), ended, { do: 'forget' }],
    ['its end is owed when the record is gone', entry(null), begun, failed('its record is gone')],
  ])('finds that %s', (_, mirrored, theirs, duty) => {
    expect(dutyOf(mirrored, theirs)).toEqual(duty)
  })

  it('tells Locked, Running and the end in this order, from wherever Arvados is', () => {
    const told: string[] = []
    let theirs = locked
    const next = (at: Theirs) => {
      const duty = dutyOf(entry(complete), at)
      return duty?.do === 'tell' && duty.telling.what === 'update'
        ? (duty.telling.attributes.state as Theirs['state'])
        : undefined
    }
    for (let duty = next(theirs); duty; duty = next(theirs)) {
      told.push(duty)
      theirs = { ...theirs, state: duty, mine: duty === 'Running' }
    }
    expect(told).toEqual(['Running', 'Complete'])
  })
})

it.each([
  [0, 0],
  [-1, 0],
  [Number.NaN, 0],
  [1, 1],
  [1000, 1000],
  [500 * 2 ** 50 - 1_795_792_855_574, 500],
  [1000 * 2 ** 50, 1000],
  [2 ** 62, 1000],
])('priorityOf makes of %d on Arvados’ scale %d on ours', (theirs, ours) => {
  expect(priorityOf(theirs)).toBe(ours)
})

describe('chosenOf', () => {
  const wish = (...priorities: number[]) => priorities.map(priority => ({ priority }))
  const here = (...priorities: number[]) => priorities.map(priority => entry({ ...waiting, priority }))

  it('locks as many as may wait, and counts those that wait already', () => {
    expect(chosenOf(wish(5, 5, 5), [...here(9), entry(running)], 3)).toEqual(wish(5, 5))
  })

  it('locks as many more when their priorities are higher, and never more than twice as many', () => {
    expect(chosenOf(wish(9, 8, 7, 1), here(5, 5), 2)).toEqual(wish(9, 8))
    expect(chosenOf(wish(9), here(5, 5, 5, 5), 2)).toEqual([])
  })
})
