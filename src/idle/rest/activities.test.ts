/** What REST shows of activity, and does about it. */
import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { idle } from '../../config/idle.ts'
import type { Activity, ActivityView, Finding } from '../../store/idle.ts'
import type { WorkloadFacts } from '../workloads/workload.ts'
import { Activities, type ActivitiesOptions, pageSize } from './activities.ts'
import type { ActivityKind } from './service.ts'

const nowMs = Date.parse('2026-01-01T12:00:00Z')
const minute = 60_000
const lab = { kind: 'lab', id: 'ada' } as const
const facts = { ...lab, podUid: 'uid-1', startedMs: nowMs - 60 * minute } as WorkloadFacts

const config = idle.parse({
  rules: [{ name: 'gpu', idleTimeoutSeconds: 3600, maxAgeSeconds: 7200, keepAlive: { maxSeconds: 1800 } }],
})
const [rule] = config.rules

const calm: Activity = {
  ...{ podUid: 'uid-1', sinceMs: nowMs - 60 * minute, lastMs: nowMs - 20 * minute, source: 'kernels' },
  ...{ checkedMs: nowMs - minute, warnedMs: 0, keepMs: 0, failures: 0, unreachableMs: 0, toldMs: 0 },
  ...{ stoppingMs: 0, stoppedMs: 0, stopWords: '', readings: {} },
}
const finding: Finding = { state: 'idle', rule: 'gpu', eligibleMs: nowMs + 40 * minute }
const known = (change: Partial<ActivityView> = {}, activity: Partial<Activity> = {}): ActivityView => ({
  ...{ activity: { ...calm, ...activity }, finding, stopped: undefined, stoppingMs: 0, keepMs: 0 },
  ...change,
})

interface Script {
  readonly view?: ActivityView | undefined
  readonly store?: Partial<ActivitiesOptions['store'] & ActivitiesOptions['touches']>
  readonly kind?: Partial<ActivityKind>
  readonly ids?: readonly string[]
}

function make({ view, store = {}, kind = {}, ids = [] }: Script = {}) {
  const onKept = vi.fn()
  const full = {
    find: vi.fn(async (_: string, of: readonly string[]) => of.map(() => view)),
    touch: vi.fn(async () => 'kept' as const),
    keepAlive: vi.fn(async (_: string, __: object, forMs: number, latestMs?: number) => ({
      untilMs: Math.min(nowMs + forMs, latestMs ?? Number.POSITIVE_INFINITY),
    })),
    endKeepAlive: vi.fn(async () => 'kept' as const),
  }
  const activities = new Activities({
    ...{
      idle: config,
      due: { ids: async () => ids },
      store: { ...full, ...store },
      touches: { ...full, ...store },
      clock: new ManualClock({ nowMs }),
    },
    kinds: [
      {
        kind: 'lab',
        facts: id => ({ ...facts, id }),
        isEnding: () => false,
        ownerOf: id => id,
        ruleOf: async () => rule,
        onKept,
        ...kind,
      },
    ],
    openEvents: async () => ({ read: async function* () {} }),
  })
  return { activities, store: full, onKept }
}

const at = (ms: number) => new Date(nowMs + ms).toISOString()
const absent: Partial<ActivityKind> = { facts: () => undefined }

describe('Activities.find', () => {
  it('shows what the last look has found', async () => {
    expect(await make({ view: known() }).activities.find(lab)).toEqual({
      ...{ ...lab, state: 'idle', lastActivity: at(-20 * minute), source: 'kernels', checkedAt: at(-minute) },
      ...{ rule: 'gpu', eligibleAfter: at(40 * minute) },
    })
  })

  it.each<[string, ActivityView | undefined, string]>([
    ['nothing is known of it', undefined, 'unknown'],
    ['no look has ended yet', known({ activity: undefined, finding: undefined, keepMs: nowMs + 1 }), 'unknown'],
    ['it does not answer', known({ finding: { ...finding, state: 'unknown' } }), 'unknown'],
    [
      'it has never answered',
      known({ finding: { ...finding, state: 'unknown' } }, { lastMs: nowMs, checkedMs: 0, unreachableMs: nowMs }),
      'unknown',
    ],
    [
      'no rule matches it',
      known({ finding: { ...finding, state: 'unknown', rule: '' } }, { lastMs: nowMs, checkedMs: 0 }),
      'unknown',
    ],
    ['it works', known({ finding: { ...finding, state: 'active' } }), 'active'],
    ['it was warned', known({ finding: { ...finding, state: 'warned' } }, { warnedMs: nowMs - minute }), 'warned'],
    ['a keep-alive has ended the warning', known({ finding: { ...finding, state: 'warned' } }), 'idle'],
    ['somebody came since', known({ finding: { ...finding, state: 'unknown' } }, { lastMs: nowMs }), 'active'],
    ['its stop is requested', known({ stoppingMs: nowMs }), 'stopping'],
    ['it was stopped before, and runs again', known({ stopped: { atMs: nowMs, words: 'w' } }), 'idle'],
  ])('says the state when %s', async (_, view, state) => {
    expect((await make({ view }).activities.find(lab))?.state).toBe(state)
  })

  it('shows the last stop with its reason when nothing runs', async () => {
    const view = known({ stopped: { atMs: nowMs - minute, words: 'stopped after 60 min without activity (rule gpu)' } })
    expect(await make({ view, kind: absent }).activities.find(lab)).toEqual({
      ...{ ...lab, state: 'stopped' },
      stopped: { at: at(-minute), why: 'stopped after 60 min without activity (rule gpu)' },
    })
  })

  it('says stopping while its pod is being deleted, whoever deletes it', async () => {
    const ending = { ...absent, isEnding: () => true }
    const view = known({ stoppingMs: nowMs, stopped: { atMs: nowMs, words: 'w' } })
    for (const each of [view, undefined]) {
      expect((await make({ view: each, kind: ending }).activities.find(lab))?.state).toBe('stopping')
      expect(await make({ view: each, kind: ending }).activities.push(lab)).toBe('stopping')
    }
  })

  it('says stopped, and notes nothing, when a lab whose stop was requested has no pod any more', async () => {
    const view = known({ stoppingMs: nowMs, stopped: { atMs: nowMs, words: 'w' } })
    expect((await make({ view, kind: absent }).activities.find(lab))?.state).toBe('stopped')
    expect(await make({ view, kind: absent }).activities.push(lab)).toBe('none')
  })

  it('shows nothing of what neither runs nor was stopped', async () => {
    expect(await make({ kind: absent }).activities.find(lab)).toBeUndefined()
    expect(await make({ view: known(), kind: absent }).activities.find(lab)).toBeUndefined()
    expect(await make().activities.find({ kind: 'app', id: 'x' })).toBeUndefined()
  })

  it('says when it may be stopped by what has happened since the last look', async () => {
    const eligible = async (view: ActivityView) => (await make({ view }).activities.find(lab))?.eligibleAfter
    expect(await eligible(known({ finding: { ...finding, eligibleMs: 0 } }))).toBeUndefined()
    expect(await eligible(known({ keepMs: nowMs + 50 * minute }))).toBe(at(50 * minute))
    // Used now: a time-out from now on, and never beyond its age.
    const early = { ...finding, eligibleMs: nowMs + minute }
    expect(await eligible(known({ finding: early }, { lastMs: nowMs - minute / 2 }))).toBe(at(59.5 * minute))
    expect(await eligible(known({ finding: early }, { lastMs: nowMs + minute }))).toBe(at(60 * minute))
  })

  it('shows no keep-alive that is over', async () => {
    const until = async (keepMs: number) => (await make({ view: known({ keepMs }) }).activities.find(lab))?.keepUntil
    expect([await until(nowMs - 1), await until(nowMs + 1000)]).toEqual([undefined, at(1000)])
  })
})

describe('Activities.list', () => {
  const ids = Array.from({ length: 2 * pageSize + 1 }, (_, n) => `user-${String(n).padStart(4, '0')}`)

  it('lists each workload once, in pages by id', async () => {
    const { activities, store } = make({ ids: ids.toReversed(), view: known() })
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await activities.list('lab', after)
      seen.push(...page.workloads.map(({ id }) => id))
      after = page.after
    } while (after !== undefined)
    expect(seen).toEqual(ids)
    expect(store.find).toHaveBeenCalledTimes(3)
  })

  it('asks nothing of an empty page', async () => {
    const { activities, store } = make({ ids })
    expect(await activities.list('lab', 'zzz')).toEqual({ workloads: [] })
    expect(store.find).not.toHaveBeenCalled()
  })
})

describe('Activities.keep', () => {
  it('keeps for as long as it was asked to', async () => {
    const { activities, store, onKept } = make()
    expect(await activities.keep(lab, 600)).toEqual({ until: at(10 * minute) })
    expect(store.keepAlive).toHaveBeenCalledWith('lab', { id: 'ada', podUid: 'uid-1' }, 600_000, nowMs + 60 * minute)
    expect(onKept).toHaveBeenCalledWith({ ...facts }, nowMs + 10 * minute)
  })

  it('grants what the rule permits, and says which limit it was', async () => {
    const { activities } = make()
    expect(await activities.keep(lab, 86_400)).toEqual({ until: at(30 * minute), limitedBy: 'keepAlive.maxSeconds' })
    const old = make({ kind: { facts: () => ({ ...facts, startedMs: nowMs - 110 * minute }) } })
    expect(await old.activities.keep(lab, 1200)).toEqual({ until: at(10 * minute), limitedBy: 'maxAgeSeconds' })
  })

  it('has no latest time when the start of the pod is not known', async () => {
    const { activities, store } = make({ kind: { facts: () => ({ ...facts, startedMs: undefined }) } })
    await activities.keep(lab, 60)
    expect(store.keepAlive).toHaveBeenCalledWith('lab', expect.anything(), 60_000, undefined)
  })

  it.each([
    ['grants none', { ...rule!, keepAlive: { maxSeconds: 0 } }],
    ['is missing', undefined],
  ])('keeps nothing when the rule %s', async (_, its) => {
    const { activities, store, onKept } = make({ kind: { ruleOf: async () => its } })
    expect(await activities.keep(lab, 60)).toBe('off')
    expect([store.keepAlive.mock.calls, onKept.mock.calls]).toEqual([[], []])
  })

  it('says stopping, and writes no annotation, when its stop came first', async () => {
    const { activities, onKept } = make({ store: { keepAlive: async () => 'stopping' } })
    expect(await activities.keep(lab, 60)).toBe('stopping')
    expect(onKept).not.toHaveBeenCalled()
  })
})

describe('what neither runs nor shows a pod', () => {
  const calls = ['push', 'keep'] as const

  it.each(calls)('is not noted by %s', async call => {
    const { activities, store } = make({ kind: absent })
    expect(await activities[call](lab, 60)).toBe('none')
    for (const write of [store.touch, store.keepAlive]) expect(write).not.toHaveBeenCalled()
  })

  it('is not released when it is no lab, or its pod is being deleted', async () => {
    for (const [kind, of, said] of [
      [{ ...absent, kind: 'notebook' }, { kind: 'notebook', id: 'team/ada' }, 'none'],
      [{ ...absent, isEnding: () => true }, lab, 'stopping'],
    ] as const) {
      const { activities, store } = make({ kind })
      expect(await activities.release(of)).toBe(said)
      expect(store.endKeepAlive).not.toHaveBeenCalled()
    }
  })

  it('is kept no longer when another replica may have seen the pod of the lab', async () => {
    const { activities, store, onKept } = make({ kind: absent })
    expect(await activities.release(lab)).toBe('released')
    expect(store.endKeepAlive).toHaveBeenCalledWith('lab', { id: 'ada', podUid: '' })
    expect(onKept).not.toHaveBeenCalled()
  })

  it.each(calls)('is answered stopping by %s while it is stopped', async call => {
    expect(await make({ kind: absent, view: known({ stoppingMs: nowMs }) }).activities[call](lab, 60)).toBe('stopping')
  })

  it('is kept by nothing while its operation runs', async () => {
    expect(await make({ kind: { ruleOf: async () => 'busy' } }).activities.keep(lab, 60)).toBe('none')
  })
})

describe('Activities.push and .release', () => {
  it('note activity of now, and end a keep-alive', async () => {
    const { activities, store, onKept } = make()
    expect([await activities.push(lab), await activities.release(lab)]).toEqual(['noted', 'released'])
    expect(store.touch).toHaveBeenCalledWith('lab', { id: 'ada', podUid: 'uid-1', ageMs: 0 }, 'push')
    expect(onKept).toHaveBeenCalledWith({ ...facts }, undefined)
  })

  it.each(['stopping', 'none'] as const)('say %s as Redis does', async outcome => {
    const { activities } = make({ store: { touch: async () => outcome, endKeepAlive: async () => outcome } })
    expect([await activities.push(lab), await activities.release(lab)]).toEqual([outcome, outcome])
  })
})
