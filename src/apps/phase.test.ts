import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { appPod } from '../../test/kit/apps/facts.ts'
import { appPhases } from '../base/app-route.ts'
import { appPhase, type DeploymentView, deploymentView, isOverQuota, type PhaseFacts } from './phase.ts'
import { gracesMs, isPodOf } from './pods.ts'
import type { Refusal } from './spec.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const deployment = (more: Partial<DeploymentView> = {}): DeploymentView => ({
  ...{ isCurrent: true, replicas: 1, ready: 1, updated: 1, failure: undefined },
  ...more,
})
const facts = (more: Partial<PhaseFacts> = {}): PhaseFacts => ({
  ...{ stop: false, refusal: undefined, deployment: deployment(), pods: [], settled: true },
  ...{ conflict: undefined, failure: undefined },
  ...more,
})
const phaseOf = (more: Partial<PhaseFacts>) => appPhase(facts(more), nowMs)

const ready = appPod({
  status: {
    phase: 'Running',
    startTime: '2026-01-01T00:00:00Z',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' }],
    containerStatuses: [{ name: 'mlflow', started: true, ready: true, state: { running: {} } }],
  },
})
const crash = { state: { terminated: { exitCode: 1, reason: 'Error', message: 'no such table' } } }
const crashed = appPod({ status: { phase: 'Running', containerStatuses: [{ name: 'mlflow', ...crash }] } })
const waiting = (reason: string, createdAt?: string) =>
  appPod({
    status: { containerStatuses: [{ name: 'mlflow', state: { waiting: { reason, message: 'connection refused' } } }] },
    ...(createdAt !== undefined && { createdAt }),
  })
const pulling = waiting('ImagePullBackOff')
const quota = { reason: 'FailedCreate', message: 'pods "app-a-1" is forbidden: exceeded quota: q' }
const refusal = (reason: Refusal['reason']): Refusal => ({ reason, message: 'why' })

describe('appPhase', () => {
  it.each<[string, Partial<PhaseFacts>, string, string]>([
    ['no Deployment', { deployment: undefined }, 'Starting', ''],
    ['a Deployment without a ready pod', { deployment: deployment({ ready: 0 }) }, 'Starting', ''],
    ['one ready pod, updated', { pods: [ready] }, 'Ready', ''],
    ['a pod more', { deployment: deployment({ replicas: 2 }) }, 'Updating', ''],
    ['a ready pod of before', { deployment: deployment({ updated: 0 }) }, 'Updating', ''],
    ['counts of an older Deployment', { deployment: deployment({ isCurrent: false }) }, 'Updating', ''],
    ['a Deployment that is to be written', { settled: false }, 'Updating', ''],
    ['a quota', { deployment: deployment({ ready: 0, failure: quota }) }, 'Error', `FailedCreate: ${quota.message}`],
    [
      'a quota that only the surge meets',
      { deployment: deployment({ updated: 0, failure: quota }) },
      'Updating',
      `FailedCreate: ${quota.message}`,
    ],
    [
      'an unknown instance type',
      { deployment: undefined, refusal: refusal('InstanceType') },
      'Error',
      'InstanceType: why',
    ],
    ['an unknown instance type of one that runs', { refusal: refusal('InstanceType') }, 'Ready', 'InstanceType: why'],
    ['the wrong group', { refusal: refusal('WrongGroup') }, 'Error', 'WrongGroup: why'],
    ['a stranger’s object', { deployment: undefined, settled: false, conflict: 'it is' }, 'Error', 'Conflict: it is'],
    ['a refused write', { deployment: undefined, settled: false, failure: 'no' }, 'Error', 'Refused: no'],
    ['a refused write of one that runs', { settled: false, failure: 'no' }, 'Ready', 'Refused: no'],
  ])('gives phase and message of %s', (_, more, phase, message) => {
    expect(phaseOf(more)).toEqual({ phase, message })
  })

  it.each<[string, Partial<PhaseFacts>, string]>([
    ['a Deployment counts pods', {}, 'Stopping'],
    ['the Deployment is not heard of yet', { deployment: deployment({ replicas: 0, isCurrent: false }) }, 'Stopping'],
    [
      'a pod is on its way out',
      { deployment: deployment({ replicas: 0, ready: 0 }), pods: [{ ...ready, deleting: true }] },
      'Stopping',
    ],
    [
      'only ended pods are left',
      { deployment: deployment({ replicas: 0 }), pods: [{ ...ready, phase: 'Failed' }] },
      'Stopped',
    ],
    ['nothing is left', { deployment: undefined }, 'Stopped'],
  ])('tells a stopped app by what is left of it: %s', (_, more, phase) => {
    expect(phaseOf({ stop: true, ...more }).phase).toBe(phase)
  })

  it('says why a stopped app would not start', () => {
    expect(phaseOf({ stop: true, deployment: undefined, refusal: refusal('WrongGroup') })).toEqual({
      ...{ phase: 'Stopped', message: 'WrongGroup: why' },
    })
  })

  it('tells a crash at once, and forgets it when the pod is ready', () => {
    const none = deployment({ ready: 0 })
    expect(phaseOf({ deployment: none, pods: [crashed] })).toMatchObject({
      ...{
        phase: 'Error',
        message: expect.stringMatching(/^Failed: The app stopped before it had started: .*no such table/s),
      },
    })
    expect(phaseOf({ pods: [ready] })).toEqual({ phase: 'Ready', message: '' })
  })

  it('tells what may pass when its grace is over, and says when that is', () => {
    const deploymentNow = deployment({ ready: 0 })
    expect(phaseOf({ deployment: deploymentNow, pods: [pulling] })).toMatchObject({
      ...{ phase: 'Error', message: expect.stringMatching(/^ImagePull: /) },
    })
    const young = waiting('ImagePullBackOff', '2026-01-01T00:59:30Z')
    expect(phaseOf({ deployment: deploymentNow, pods: [young] })).toEqual({
      ...{ phase: 'Starting', message: '', dueMs: nowMs - 30_000 + gracesMs.registry },
    })
  })

  it('goes by the newest pod that is not on its way out', () => {
    const none = deployment({ ready: 0 })
    const next = appPod({ name: 'next', createdAt: '2026-01-01T00:30:00Z' })
    expect(phaseOf({ deployment: none, pods: [crashed, next] }).phase).toBe('Starting')
    expect(phaseOf({ deployment: none, pods: [next, { ...crashed, deleting: true }] }).phase).toBe('Starting')
  })

  it('is total, depends on nothing else, and is never Ready of what does not run whole', () => {
    const anyCount = fc.constantFrom(0, 1, 2, 7)
    const anyDeployment = fc.record({
      ...{ isCurrent: fc.boolean(), replicas: anyCount, ready: anyCount, updated: anyCount },
      failure: fc.constantFrom(undefined, quota),
    })
    const anyFacts: fc.Arbitrary<PhaseFacts> = fc.record({
      ...{ stop: fc.boolean(), settled: fc.boolean(), deployment: fc.option(anyDeployment, { nil: undefined }) },
      refusal: fc.constantFrom(
        undefined,
        ...(['Invalid', 'WrongGroup', 'InstanceType', 'Conflict'] as const).map(refusal),
      ),
      pods: fc.subarray([
        ready,
        { ...crashed, uid: 'c' },
        { ...pulling, uid: 'p' },
        { ...ready, name: 'x', uid: 'x', deleting: true },
      ]),
      ...{ conflict: fc.constantFrom(undefined, 'c'), failure: fc.constantFrom(undefined, 'f') },
    })
    fc.assert(
      fc.property(anyFacts, fc.nat(), (any, ms) => {
        const verdict = appPhase(any, ms)
        expect(appPhases).toContain(verdict.phase)
        expect(appPhase(structuredClone({ ...any, pods: any.pods.toReversed() }), ms)).toEqual(verdict)
        if (any.stop) expect(['Stopping', 'Stopped']).toContain(verdict.phase)
        if (verdict.phase === 'Error') expect(verdict.message).toMatch(/^\w+: ./)
        if (verdict.phase === 'Ready') expect(any.deployment).toMatchObject({ isCurrent: true, ready: 1, updated: 1 })
        if (verdict.phase === 'Stopped') expect(any.deployment?.replicas ?? 0).toBe(0)
      }),
    )
  })
})

describe('deploymentView', () => {
  it('reads counts of the generation that the Deployment has', () => {
    const status = { observedGeneration: 4, replicas: 2, readyReplicas: 1, updatedReplicas: 1 }
    expect(deploymentView({ generation: 4, ...status })).toEqual(deployment({ replicas: 2 }))
    expect(deploymentView({ generation: 5, ...status }).isCurrent).toBe(false)
    expect(deploymentView({})).toEqual(deployment({ isCurrent: false, replicas: 0, ready: 0, updated: 0 }))
  })

  it('reads why a pod could not be made, and whether a quota refuses it', () => {
    const conditions = (status: string, message: string) => [
      { type: 'ReplicaFailure', status, reason: 'FailedCreate', message },
    ]
    const over = deploymentView({ conditions: conditions('True', quota.message) })
    expect([over.failure, isOverQuota(over.failure?.message)]).toEqual([quota, true])
    expect(deploymentView({ conditions: conditions('False', quota.message) }).failure).toBeUndefined()
    expect(isOverQuota('violates PodSecurity')).toBe(false)
  })
})

it('isPodOf believes no label, but the ReplicaSet', () => {
  expect(isPodOf('mlflow-xyzab', ready)).toBe(true)
  expect(isPodOf('mlflow', ready)).toBe(true)
  expect(isPodOf('other', ready)).toBe(false)
  expect(isPodOf('mlflow-xyzab', { ...ready, replicaSet: undefined })).toBe(false)
})
