import { describe, expect, it } from 'vitest'
import { containerFacts, podFacts } from '../../../test/kit/labs/pod-facts.ts'
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import type { Standing } from '../../store/compares.ts'
import { type LabRecord, readView } from '../../store/records.ts'
import { decide, type Found } from './settle.ts'

const hourMs = 3_600_000
const nowMs = 1_700_000_000_000

const record = (more: Partial<LabRecord> = {}): LabRecord => ({
  ...{ op: 7, kind: 'create', status: 'running', active: false, nonce: 'n', token: '', claims: 1, attempts: 0 },
  acting: false,
  ...{ step: '', seq: 2, progress: 100, acceptedAtMs: nowMs, failedAtMs: 0, view: readView(undefined, 'ada') },
  ...{ sealedPlan: undefined, namespaceUid: 'namespace-uid', podUid: 'pod-uid', podPresent: true, failing: undefined },
  ...{ requestId: undefined, traceparent: undefined },
  ...more,
})

const standing = (of: Partial<LabRecord> | null, tombstone = 0): Standing => ({
  record: of && record(of),
  tombstone,
  fingerprint: 'f',
  nowMs,
})

const namespace = (more: Partial<NamespaceFacts> = {}): NamespaceFacts => ({
  ...{ name: 'nublado-ada', uid: 'namespace-uid', installation: 'skylab', op: 7, user: 'ada', record: undefined },
  ...{ terminating: false, obstacles: [], ...more },
})

const running = podFacts({
  phase: 'Running',
  containers: [containerFacts({ started: true, ready: true, running: true })],
})
const rest = { names: { lab: 'nb-ada', namespace: 'nublado-ada' }, vouched: false, podFields: {} }
const found = (more: Partial<NamespaceFacts> = {}, pod: PodFacts | undefined = running): Found => ({
  ...{ namespace: namespace(more), pod, ...rest },
})

const decideFor = (of: Standing, in_: Found | undefined) => decide('ada', of, in_, nowMs - 24 * hourMs)

describe('decide, when the cluster is newer than Redis,', () => {
  const outcomes: [string, Found, string][] = [
    ['a lab that runs', found(), 'running'],
    ['a lab that ran and failed', found({}, podFacts({ ...running, phase: 'Failed' })), 'failed'],
    ['a lab that ended well', found({}, podFacts({ ...running, phase: 'Succeeded' })), 'delete'],
    ['a pod that never started', found({}, podFacts()), 'delete'],
    ['no pod', { namespace: namespace(), pod: undefined, ...rest }, 'delete'],
    ['a pod on its way out', found({}, podFacts({ ...running, deleting: true })), 'delete'],
    ['a namespace on its way out', found({ terminating: true }), 'delete'],
    ['a pod of another namespace', found({}, podFacts({ ...running, ownerUid: 'another' })), 'delete'],
    [
      'a pod whose container was restarted, in doubt',
      found({}, podFacts({ phase: 'Running', containers: [containerFacts({ restartCount: 1 })] })),
      'running',
    ],
    [
      'a pod that was Ready once and crashes',
      found({}, podFacts({ phase: 'Running', everReady: true, containers: [containerFacts({ restartCount: 3 })] })),
      'running',
    ],
  ]

  for (const [before, of] of [
    ['nothing', standing(null)],
    ['a tombstone of an older deletion', standing(null, 6)],
    ['an older record at rest', standing({ op: 6 })],
    ['an older operation in progress', standing({ op: 6, status: 'pending', active: true, token: 't' })],
    ['an older failure', standing({ op: 6, status: 'failed' })],
  ] as const) {
    it.each(outcomes)(`${before}, and %s`, (_, in_, outcome) => {
      const decision = decideFor(of, in_)
      expect(decision).toMatchObject({ kind: 'settle', settlement: { outcome, op: 7 } })
    })
  }

  it('deletes a lab whose pod was stopped by its annotation only if that is heeded', () => {
    const stamped = found({}, podFacts({ ...running, stopped: '2026-11-24T19:06:00Z' }))
    for (const [heeds, outcome] of [
      [false, 'running'],
      [true, 'delete'],
    ] as const) {
      const decision = decide('ada', standing(null), stamped, nowMs - 24 * hourMs, heeds)
      expect(decision).toMatchObject({ kind: 'settle', settlement: { outcome } })
    }
  })

  it('restores the record from the cluster, and ends streams with a last event', () => {
    const decision = decideFor(
      standing(null),
      found({ record: JSON.stringify({ ...readView(undefined, 'ada'), uid: 9 }) }),
    )
    if (decision.kind !== 'settle') throw new Error('not settled')
    const { fields, events, lost } = decision.settlement
    expect(fields).toMatchObject({ namespaceUid: 'namespace-uid', podUid: 'pod-uid', podPresent: true })
    expect(fields.view).toMatchObject({ username: 'ada', uid: 9, internalUrl: 'http://nb-ada.nublado-ada:8888/' })
    expect(events.map(([type]) => type)).toEqual(['info', 'complete'])
    expect(lost.at(-1)![0]).toBe('failed')
  })
})

describe('decide, when Redis is up to date,', () => {
  it('leaves operations alone', () => {
    for (const status of ['pending', 'terminating'] as const) {
      for (const in_ of [undefined, found(), found({ terminating: true }), found({ op: 3 })]) {
        expect(decideFor(standing({ status, active: true }), in_)).toEqual({ kind: 'nothing' })
      }
    }
  })

  it('has a running lab’s own pod judged', () => {
    expect(decideFor(standing({}), found())).toEqual({ kind: 'judge', pod: running })
  })

  it('asks for a running lab’s pod when the list lacks it or has another one', () => {
    const confirm = { kind: 'confirm', podUid: 'pod-uid' }
    expect(decideFor(standing({}), undefined)).toEqual(confirm)
    expect(decideFor(standing({}), { namespace: namespace(), pod: undefined, ...rest })).toEqual(confirm)
    expect(decideFor(standing({}), found({}, podFacts({ uid: 'another' })))).toEqual(confirm)
    expect(decideFor(standing({ podUid: undefined }), undefined)).toEqual({ kind: 'nothing' })
  })

  it('treats objects as debris at or below a tombstone, or when they are not the failed record’s', () => {
    const debris = { kind: 'debris', namespace: 'nublado-ada' }
    expect(decideFor(standing({ status: 'failed', podUid: 'another' }), found())).toEqual(debris)
    expect(decideFor(standing({ status: 'failed', podUid: undefined }), found())).toEqual(debris)
    expect(decideFor(standing({ status: 'failed', remains: true }), found())).toEqual(debris)
    expect(decideFor(standing(null, 7), found())).toEqual(debris)
    expect(decideFor(standing(null, 8), found())).toEqual(debris)
    expect(decideFor(standing({ status: 'failed', op: 9, namespaceUid: undefined }), found())).toEqual(debris)
    expect(decideFor(standing({ status: 'failed', failedAtMs: nowMs }), found())).toEqual({ kind: 'nothing' })
  })

  it('asks for the pod of a failed lab when the list lacks it and the record has it', () => {
    const failed = { status: 'failed', failedAtMs: nowMs } as const
    const confirm = { kind: 'confirm', podUid: 'pod-uid' }
    const podless = { namespace: namespace(), pod: undefined, ...rest }
    for (const in_ of [undefined, podless]) {
      expect(decideFor(standing(failed), in_)).toEqual(confirm)
      expect(decideFor(standing({ ...failed, podPresent: false }), in_)).toEqual({ kind: 'nothing' })
      expect(decideFor(standing({ ...failed, podUid: undefined }), in_)).toEqual({ kind: 'nothing' })
    }
  })

  it('expires a failed lab after its time, while it has objects', () => {
    const failedAtMs = nowMs - 25 * hourMs
    expect(decideFor(standing({ status: 'failed', failedAtMs }), found())).toEqual({ kind: 'expire', op: 7 })
    const without = { status: 'failed', failedAtMs, podPresent: false } as const
    expect(decideFor(standing(without), undefined)).toEqual({ kind: 'nothing' })
    expect(decideFor(standing({ status: 'failed', failedAtMs: nowMs - 23 * hourMs }), found())).toEqual({
      kind: 'nothing',
    })
  })

  it('decides nothing without a record and objects', () => {
    expect(decideFor(standing(null), undefined)).toEqual({ kind: 'nothing' })
    expect(decideFor(standing(null, 5), undefined)).toEqual({ kind: 'nothing' })
  })
})
