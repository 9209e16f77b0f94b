import { describe, expect, it } from 'vitest'
import type { Survey } from '../store/heal.ts'
import { diagnose } from './heal.ts'
import type { Listing } from './listing.ts'
import { redisMs } from './testing.ts'
import { boundAt } from './trust.ts'

const nowUs = redisMs * 1000
const ahead = boundAt(redisMs) + 1
const votes = { labs: 0, ahead: 0 }

const survey = (more: Partial<Survey> = {}): Survey => ({ lastOp: nowUs - 5, nowMs: redisMs, users: [], ...more })
const listing = (more: Partial<Listing> = {}): Listing => ({
  ...{ found: new Map(), highestOp: 0, distrusted: [], vouched: votes, unvouched: votes },
  ...more,
})
const user = { user: 'ada', record: 0, stream: 0, tombstone: 0, waiting: 0 }

describe('diagnose', () => {
  it('finds nothing where nothing is ahead', () => {
    const users = [{ ...user, record: nowUs, stream: nowUs, tombstone: boundAt(redisMs) }]
    expect(diagnose(survey({ users }), listing(), redisMs)).toMatchObject({ findings: [], refusal: undefined })
  })

  it('sets a counter to Redis’ clock, or to the highest op that is believed', () => {
    const lastOp = Number.MAX_SAFE_INTEGER
    const to = (more: Partial<Survey>, highestOp = 0) =>
      diagnose(survey({ lastOp, ...more }), listing({ highestOp }), redisMs).findings
    expect(to({})).toEqual([{ kind: 'counter', op: lastOp, to: nowUs }])
    expect(to({}, nowUs + 7)).toMatchObject([{ to: nowUs + 7 }])
    const users = [{ ...user, record: nowUs + 9, stream: ahead }]
    expect(to({ users })).toMatchObject([{ to: nowUs + 9 }, { kind: 'stream', user: 'ada', op: ahead }])
  })

  it('finds what is ahead of a user in Redis, each by itself', () => {
    const users = [{ user: 'ada', record: ahead, stream: ahead + 1, tombstone: ahead + 2, waiting: ahead + 3 }]
    expect(diagnose(survey({ users }), listing(), redisMs).findings).toEqual([
      { kind: 'record', user: 'ada', op: ahead },
      { kind: 'stream', user: 'ada', op: ahead + 1 },
      { kind: 'tombstone', user: 'ada', op: ahead + 2 },
      { kind: 'waiting', user: 'ada', op: ahead + 3 },
    ])
  })

  it('would delete namespaces of ours by their UID, and names all others', () => {
    const object = { why: 'ahead', kind: 'Namespace', uid: 'u', op: ahead, named: true } as const
    const pod = { ...object, kind: 'Pod', name: 'x', namespace: 'mine', named: false } as const
    const distrusted = [
      { ...object, name: 'nublado-ada' },
      { ...object, name: 'mine', named: false },
      { ...object, name: 'nublado-cyd', why: 'mac' as const },
      pod,
    ]
    const { findings, strangers } = diagnose(survey(), listing({ distrusted }), redisMs)
    expect(findings).toEqual([{ kind: 'namespace', name: 'nublado-ada', uid: 'u', op: ahead }])
    expect(strangers.map(({ name }) => name)).toEqual(['mine', 'nublado-cyd', 'x'])
  })

  it.each([
    ['behind', 48],
    ['ahead of', -48],
  ])('refuses to change anything while the clock of Redis is %s this machine’s', (words, hours) => {
    const { refusal } = diagnose(survey(), listing(), redisMs + hours * 3_600_000)
    expect(refusal).toBe(`the clock of Redis is 48 hours ${words} this machine’s: set it right first`)
  })
})
