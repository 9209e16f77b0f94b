import { describe, expect, it } from 'vitest'
import { labOf, type Subject, subjectText } from '../../base/subject.ts'
import type { Survey } from '../../store/heal.ts'
import { redisMs } from '../testing/cluster.ts'
import { boundAt } from '../trust.ts'
import { applyTo, diagnose as diagnoseBy, type Finding, leftOf } from './heal.ts'
import type { Listing } from './listing.ts'

const nowUs = redisMs * 1000
const ahead = boundAt(redisMs) + 1
const votes = { labs: 0, ahead: 0 }

const survey = (more: Partial<Survey> = {}): Survey => ({
  lastOp: nowUs - 5,
  nowMs: redisMs,
  subjects: [],
  epochs: {},
  ...more,
})
const listing = (more: Partial<Listing> = {}): Listing => ({
  ...{ found: new Map(), highestOp: 0, distrusted: [], vouched: votes, unvouched: votes },
  ...more,
})
const none = { record: 0, stream: 0, tombstone: 0, waiting: 0, epoch: 0, run: 0, namespaceUid: '' }
const user = { ...none, subject: labOf('ada') }

const clocks = { wallMs: redisMs, apiServerMs: redisMs as number | undefined }
const diagnose = (itsSurvey: Survey, itsListing: Listing, more: Partial<typeof clocks> = {}, withLabs = false) =>
  diagnoseBy(itsSurvey, itsListing, { ...clocks, ...more }, withLabs)

describe('diagnose', () => {
  it('finds nothing when nothing is ahead', () => {
    const subjects = [{ ...user, record: nowUs, stream: nowUs, tombstone: boundAt(redisMs) }]
    expect(diagnose(survey({ subjects }), listing())).toMatchObject({ findings: [], refusal: undefined })
  })

  it('sets a counter to Redis’ clock or to the highest trusted op', () => {
    const lastOp = Number.MAX_SAFE_INTEGER
    const to = (more: Partial<Survey>, highestOp = 0) =>
      diagnose(survey({ lastOp, ...more }), listing({ highestOp })).findings
    expect(to({})).toEqual([{ kind: 'counter', op: lastOp, to: nowUs }])
    expect(to({}, nowUs + 7)).toMatchObject([{ to: nowUs + 7 }])
    const subjects = [{ ...user, record: nowUs + 9, stream: ahead }]
    expect(to({ subjects })).toMatchObject([{ to: nowUs + 9 }, { kind: 'stream', user: 'ada', op: ahead }])
  })

  it('finds each number of a user in Redis that is ahead', () => {
    const subjects = [{ ...user, record: ahead, stream: ahead + 1, tombstone: ahead + 2, waiting: ahead + 3 }]
    expect(diagnose(survey({ subjects }), listing()).findings).toEqual([
      { kind: 'record', user: 'ada', op: ahead },
      { kind: 'stream', user: 'ada', op: ahead + 1 },
      { kind: 'tombstone', user: 'ada', op: ahead + 2 },
      { kind: 'waiting', user: 'ada', op: ahead + 3 },
    ])
  })

  it('names subjects of another kind by their kind, and trusts their numbers as those of labs', () => {
    const toy = { ...user, subject: { kind: 'toy', name: 'ada' } }
    const subjects = [user, { ...toy, record: nowUs + 7, epoch: nowUs + 9, stream: ahead, waiting: ahead + 1 }]
    const epochs = { lab: 0, toy: ahead + 2 }
    expect(diagnose(survey({ lastOp: ahead, subjects, epochs }), listing()).findings).toEqual([
      { kind: 'counter', op: ahead, to: nowUs + 9 },
      { kind: 'epoch-counter', of: 'toy', op: ahead + 2, to: nowUs + 9 },
      { kind: 'stream', subject: 'toy:ada', op: ahead },
      { kind: 'waiting', subject: 'toy:ada', op: ahead + 1 },
    ])
    const { findings } = diagnose(survey({ subjects: [{ ...toy, epoch: ahead }] }), listing())
    expect(findings).toEqual([{ kind: 'epoch', subject: 'toy:ada', op: ahead }])
  })

  it('keeps all of a subject of another kind whose record is ahead, since nothing finds its objects again', () => {
    const toy = { ...user, subject: { kind: 'toy', name: 'ada' }, record: ahead, stream: ahead }
    const { findings, kept } = diagnose(survey({ subjects: [toy, { ...user, record: ahead }] }), listing())
    expect(findings).toEqual([{ kind: 'record', user: 'ada', op: ahead }])
    expect(kept).toEqual([
      { kind: 'record', subject: 'toy:ada', op: ahead },
      { kind: 'stream', subject: 'toy:ada', op: ahead },
    ])
  })

  it('keeps the run of a container that is ahead, since it fences older runs', () => {
    const subjects = [{ ...none, subject: { kind: 'container', name: 'u' }, record: nowUs, run: ahead, stream: ahead }]
    const { findings, kept } = diagnose(survey({ subjects }), listing())
    expect(findings).toEqual([{ kind: 'stream', subject: 'container:u', op: ahead }])
    expect(kept).toEqual([{ kind: 'run', subject: 'container:u', op: ahead }])
  })

  it('lists our namespaces for deletion by UID, and only names all others', () => {
    const object = { why: 'ahead', kind: 'Namespace', uid: 'u', op: ahead, named: true } as const
    const pod = { ...object, kind: 'Pod', name: 'x', namespace: 'mine', named: false } as const
    const distrusted = [
      { ...object, name: 'nublado-ada' },
      { ...object, name: 'mine', named: false },
      { ...object, name: 'nublado-cyd', why: 'mac' as const },
      pod,
    ]
    const { findings, strangers } = diagnose(survey(), listing({ distrusted }))
    expect(findings).toEqual([{ kind: 'namespace', name: 'nublado-ada', uid: 'u', op: ahead }])
    expect(strangers.map(({ name }) => name)).toEqual(['mine', 'nublado-cyd', 'x'])
  })

  const namespace = { why: 'ahead', kind: 'Namespace', name: 'nublado-ada', uid: 'u', op: ahead, named: true } as const
  const found = (mac: 'right' | 'wrong' | 'unknown', subjects: Survey['subjects'] = [], withLabs = false) => {
    const { findings, strangers } = diagnose(
      survey({ subjects }),
      listing({ distrusted: [{ ...namespace, mac }] }),
      {},
      withLabs,
    )
    return [findings.map(({ kind }) => kind), strangers.map(({ why }) => why)]
  }

  it('leaves a namespace with a right MAC untouched unless labs are to be deleted', () => {
    expect(found('right')).toEqual([[], ['lab']])
    expect(found('right', [], true)).toEqual([['namespace'], []])
    expect(found('unknown')).toEqual([['namespace'], []])
  })

  it('leaves a namespace with a wrong MAC untouched when its op is ahead', () => {
    expect(found('wrong')).toEqual([[], ['mac']])
    expect(found('wrong', [], true)).toEqual([[], ['mac']])
  })

  it('leaves a namespace untouched when a trusted record names its UID', () => {
    expect(found('unknown', [{ ...user, record: nowUs, namespaceUid: 'u' }], true)).toEqual([[], ['relabelled']])
    expect(found('unknown', [{ ...user, record: ahead, namespaceUid: 'u' }])).toEqual([['record', 'namespace'], []])
    expect(found('unknown', [{ ...user, record: nowUs, namespaceUid: 'other' }])).toEqual([['namespace'], []])
    const toy = { ...user, subject: { kind: 'toy', name: 'ada' } }
    expect(found('unknown', [{ ...toy, record: nowUs, namespaceUid: 'u' }])).toEqual([['namespace'], []])
  })

  it.each([
    ['behind', 48],
    ['ahead of', -48],
  ])('refuses to change anything while the clock of Redis is %s this machine’s', (words, hours) => {
    const { refusal } = diagnose(survey(), listing(), { wallMs: redisMs + hours * 3_600_000 })
    expect(refusal).toBe(`the clock of Redis is 48 hours ${words} this machine’s: set it right first`)
  })

  it('refuses to change anything when the clocks of Redis and the API server differ, or the latter is unknown', () => {
    const refusal = (apiServerMs: number) => diagnose(survey(), listing(), { apiServerMs }, true).refusal
    expect(refusal(redisMs + 3_600_000)).toBeUndefined()
    expect(refusal(redisMs + 48 * 3_600_000)).toMatch(/^the clock of Redis is 48 hours behind the API server’s/)
    expect(refusal(Number.NaN)).toMatch(/sends no clock/)
  })

  it('asks only for the clock of this machine where no API server is asked', () => {
    const refusal = (wallMs: number) => diagnose(survey(), listing(), { wallMs, apiServerMs: undefined }).refusal
    expect(refusal(redisMs)).toBeUndefined()
    expect(refusal(redisMs + 48 * 3_600_000)).toMatch(/behind this machine’s/)
  })

  it('refuses to change anything while most labs with a right MAC are ahead, unless labs are to be deleted', () => {
    const refusal = (more: Partial<Listing>, withLabs = false) =>
      diagnose(survey({ lastOp: ahead }), listing(more), {}, withLabs).refusal
    expect(refusal({ vouched: { labs: 3, ahead: 2 } })).toMatch(
      /the clock of Redis, which is behind: 2 of 3 labs .*--with-labs/,
    )
    expect(refusal({ vouched: { labs: 3, ahead: 2 } }, true)).toBeUndefined()
    expect(refusal({ vouched: { labs: 2, ahead: 1 }, unvouched: { labs: 1, ahead: 1 } })).toBeUndefined()
  })
})

const diagnosis = (findings: readonly Finding[]) => ({ ...diagnose(survey(), listing()), findings })
const deleted = { kind: 'namespace', name: 'nublado-ada', uid: 'u', op: ahead } as const

describe('applyTo', () => {
  const done = async (...findings: Finding[]) => {
    const calls: string[] = []
    const note = <T>(words: string, answer: T) => {
      calls.push(words)
      return Promise.resolve(answer)
    }
    const kube = { delete: ({ uid }: { uid: string }) => note(`delete ${uid}`, 'accepted' as const) }
    const healSubject = (subject: Subject) => note(subjectText(subject), [])
    const healCounter = (_: number, compare: boolean) => note(compare ? 'counter, compare' : 'counter', 1)
    await applyTo(diagnosis(findings), { kube, store: { healSubject, healCounter } })
    return calls
  }

  it('reports each change, and one that failed', async () => {
    const reported: unknown[] = []
    const broken = () => Promise.reject(new Error('Redis is away'))
    const kube = { delete: async () => 'accepted' as const }
    const healing = applyTo(diagnosis([deleted, { kind: 'record', user: 'ada', op: ahead }]), {
      ...{ kube, store: { healSubject: broken, healCounter: broken } },
      onHealed: (healed, result) => reported.push([healed, result]),
    })
    await expect(healing).rejects.toThrow('Redis is away')
    expect(reported).toEqual([
      [{ kind: 'namespace', name: 'nublado-ada', op: ahead }, 'succeeded'],
      [{ kind: 'records', subject: labOf('ada') }, 'failed'],
    ])
  })

  it('heals what a subject of any kind has at once, and the counters last', async () => {
    const toy = { kind: 'epoch', subject: 'toy:ada', op: ahead } as const
    const epochs = { kind: 'epoch-counter', of: 'toy', op: ahead, to: nowUs } as const
    const healed = await done(epochs, toy, { ...toy, kind: 'stream' }, { kind: 'waiting', user: 'ada', op: ahead })
    expect(healed).toEqual(['toy:ada', 'lab:ada', 'counter'])
  })

  it('causes a new compare only when the counter or the record of a lab was ahead', async () => {
    const [counter, record] = [
      { kind: 'counter', op: ahead, to: 1 } as const,
      { kind: 'record', user: 'ada', op: ahead } as const,
    ]
    expect(await done(counter, record, deleted)).toEqual(['delete u', 'lab:ada', 'counter, compare'])
    expect(await done(record)).toEqual(['lab:ada', 'counter, compare'])
    expect(await done({ kind: 'record', subject: 'toy:ada', op: ahead })).toEqual(['toy:ada'])
    expect(await done(deleted, { ...record, kind: 'stream' })).toEqual(['delete u', 'lab:ada'])
  })
})

describe('leftOf', () => {
  it('returns findings that remain, but no terminating namespace', () => {
    const [record, other] = [{ kind: 'record', user: 'ada', op: ahead } as const, { ...deleted, uid: 'other' }]
    expect(leftOf(diagnosis([record, deleted]), diagnosis([deleted]))).toEqual([])
    expect(leftOf(diagnosis([record, deleted]), diagnosis([record, deleted, other]))).toEqual([record, other])
  })
})
