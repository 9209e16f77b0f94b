import { describe, expect, it } from 'vitest'
import { containerFacts, podEventFacts, podFacts, terminationFacts } from '../../../test/kit/labs/pod-facts.ts'
import type { ContainerFacts, PodFacts } from './facts.ts'
import { eventForUser, isWhole, judgeLife, judgeStart } from './judge.ts'

const podOf = (container: Partial<ContainerFacts>, pod: Partial<PodFacts> = {}) =>
  podFacts({ ...pod, containers: [containerFacts(container)] })

const waitingFor = (reason: string, message = '') => podOf({ waiting: { reason, message } })

const ready: Partial<ContainerFacts> = { running: true, started: true, ready: true }
const crash = terminationFacts({ exitCode: 3, message: 'Traceback\nImportError: no module\n' })

describe('judgeStart without problems', () => {
  it.each<[string, PodFacts]>([
    ['just made', podFacts({ containers: [], node: undefined })],
    ['making its container', waitingFor('ContainerCreating')],
    ['preparing', waitingFor('PodInitializing')],
    ['running, not answering yet', podOf({ running: true }, { phase: 'Running', everReady: false })],
  ])('returns starting when the pod is: %s', (_, pod) => {
    expect(judgeStart(pod)).toEqual({ kind: 'starting' })
  })

  it('returns ready when every container has started', () => {
    expect(judgeStart(podOf(ready, { phase: 'Running' }))).toEqual({ kind: 'ready' })
    const half = podFacts({ phase: 'Running', containers: [containerFacts(ready), containerFacts({ running: true })] })
    expect(judgeStart(half)).toEqual({ kind: 'starting' })
  })

  it('returns ready when the lab has crashed after its start', () => {
    const pod = podOf({ terminated: crash }, { phase: 'Running', everReady: true })
    expect(judgeStart(pod)).toEqual({ kind: 'ready' })
  })

  it('returns ready when the lab was restarted and has started', () => {
    const pod = podOf({ ...ready, restartCount: 1, lastTerminated: crash }, { phase: 'Running', everReady: true })
    expect(judgeStart(pod)).toEqual({ kind: 'ready' })
  })

  it('returns ended when the pod finished with success', () => {
    expect(judgeStart(podFacts({ phase: 'Succeeded' }))).toEqual({ kind: 'ended' })
  })
})

describe('judgeStart with crashes', () => {
  it.each<[string, PodFacts]>([
    ['stopped', podOf({ terminated: crash })],
    ['running again', podOf({ running: true, restartCount: 1, lastTerminated: crash }, { everReady: false })],
    [
      'waiting to be restarted',
      podOf({
        waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' },
        restartCount: 2,
        lastTerminated: crash,
      }),
    ],
  ])('returns doomed when a container crashed before it started: %s', (_, pod) => {
    expect(judgeStart(pod)).toEqual({
      kind: 'doomed',
      message: 'The lab stopped before it had started: exit code 3\nTraceback\nImportError: no module',
    })
  })

  it('names a lack of memory', () => {
    const pod = podOf({ terminated: terminationFacts({ exitCode: 137, reason: 'OOMKilled' }) })
    expect(judgeStart(pod)).toMatchObject({
      kind: 'doomed',
      message: expect.stringContaining('it used more memory than its size allows, exit code 137'),
    })
  })

  it('hides secrets in the last lines', () => {
    const pod = podOf({ terminated: terminationFacts({ message: 'http://lab:8888/?token=abc123' }) })
    expect(JSON.stringify(judgeStart(pod))).not.toContain('abc123')
  })

  it('returns doomed for a missing command, but not for a runtime in trouble', () => {
    const missing = 'runc create failed: exec: "jupyter": executable file not found in $PATH: unknown'
    const startError = (message: string) =>
      podOf({ terminated: terminationFacts({ exitCode: 128, reason: 'StartError', message }) })
    expect(judgeStart(startError(missing)).kind).toBe('doomed')
    expect(judgeStart(startError('context deadline exceeded: unknown'))).toMatchObject({
      kind: 'troubled',
      cause: 'unknown',
    })
  })

  it.each([
    ['CreateContainerConfigError', 'configmap "nb-ada-env" not found', 'troubled'],
    ['CreateContainerConfigError', 'container has runAsNonRoot and image will run as root', 'doomed'],
    ['CreateContainerError', 'failed to reserve container name "lab": name is reserved', 'troubled'],
    ['CreateContainerError', 'failed to generate container spec: no command specified', 'doomed'],
    ['RunContainerError', 'exec: "jupyter": executable file not found in $PATH', 'doomed'],
    ['RunContainerError', 'exec /opt/lab/run: exec format error', 'doomed'],
    ['RunContainerError', '', 'troubled'],
  ])('with the reason %s (%s) returns %s', (reason, message, kind) => {
    const verdict = judgeStart(waitingFor(reason, message))
    expect(verdict.kind).toBe(kind)
    expect(verdict).toMatchObject({ message: expect.stringContaining(message || reason) })
  })
})

describe('judgeStart with scheduling, nodes and ends', () => {
  it('reports missing room with the scheduler’s message', () => {
    const pod = podFacts({
      node: undefined,
      unschedulable: '0/1 nodes are available: 1 Insufficient cpu.',
      containers: [],
    })
    expect(judgeStart(pod)).toEqual({
      kind: 'troubled',
      cause: 'no-room',
      message: 'There is no room for the lab at the moment (0/1 nodes are available: 1 Insufficient cpu.)',
    })
  })

  it.each([
    '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found',
    '0/3 nodes are available: persistentvolumeclaim "nb-rra-scratch" not found.',
    "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind.",
  ])('reports a missing volume instead of missing room: %s', unschedulable => {
    expect(judgeStart(podFacts({ node: undefined, unschedulable, containers: [] }))).toEqual({
      kind: 'troubled',
      cause: 'no-room',
      message: `A volume of the lab is not there at the moment (${unschedulable})`,
    })
  })

  it('returns troubled when the node is silent', () => {
    for (const facts of [{ unheard: true }, { phase: 'Unknown' }] as const) {
      expect(judgeStart(podFacts(facts))).toEqual({
        kind: 'troubled',
        cause: 'unknown',
        message: "The lab's node node-1 has gone silent",
      })
    }
  })

  it.each<[Partial<PodFacts>, string]>([
    [
      { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
      'The lab stopped: its node evicted it (The node was low on resource: memory.)',
    ],
    [{ phase: 'Failed', reason: 'Odd' }, 'The lab stopped: Odd'],
    [{ phase: 'Failed' }, 'The lab stopped, and the cluster does not say why'],
    [
      { phase: 'Failed', containers: [containerFacts({ terminated: terminationFacts({ exitCode: 9 }) })] },
      'The lab stopped: exit code 9',
    ],
    [{ deleting: true }, "The lab's pod was deleted from outside"],
    [{ deleting: true, phase: 'Succeeded' }, "The lab's pod was deleted from outside"],
    [
      { deleting: true, reason: 'PreemptionByScheduler' },
      "The lab's pod was deleted from outside: the scheduler needed the room for something more important",
    ],
  ])('returns doomed when %j', (facts, message) => {
    expect(judgeStart(podFacts(facts))).toEqual({ kind: 'doomed', message })
  })
})

describe('judgeStart with images', () => {
  const backOff = 'Back-off pulling image "some/lab:1"'
  const failed = (message: string, podUid = 'pod-uid') =>
    podEventFacts({ warning: true, reason: 'Failed', message: `Failed to pull image "some/lab:1": ${message}`, podUid })

  it('takes the cause from the container’s state when it is there', () => {
    const pod = waitingFor('ImagePullBackOff', `${backOff}: ErrImagePull: some/lab:1: not found`)
    expect(judgeStart(pod)).toMatchObject({ kind: 'doomed' })
  })

  it('takes the cause from the last event of this pod otherwise', () => {
    const pod = waitingFor('ImagePullBackOff', backOff)
    const notFound = failed('failed to resolve reference "some/lab:1": some/lab:1: not found')
    expect(judgeStart(pod, [failed('i/o timeout'), notFound, podEventFacts()])).toMatchObject({ kind: 'doomed' })
    expect(judgeStart(pod, [notFound, failed('i/o timeout')])).toMatchObject({ kind: 'troubled', cause: 'registry' })
    expect(judgeStart(pod, [failed('some/lab:1: not found', 'another')])).toMatchObject({ kind: 'troubled' })
    expect(judgeStart(pod)).toEqual({
      kind: 'troubled',
      cause: 'registry',
      message: `The image could not be pulled yet (${backOff})`,
    })
  })

  it('returns troubled when the kubelet asked without the pull secret', () => {
    const pod = waitingFor('ErrImagePull', 'some/lab:1: 401 Unauthorized')
    const missed = (podUid: string) =>
      podEventFacts({ warning: true, reason: 'FailedToRetrieveImagePullSecret', podUid })
    expect(judgeStart(pod)).toMatchObject({ kind: 'doomed' })
    expect(judgeStart(pod, [missed('another')])).toMatchObject({ kind: 'doomed' })
    expect(judgeStart(pod, [missed('pod-uid')])).toEqual({
      kind: 'troubled',
      cause: 'registry',
      message: 'The image could not be pulled yet (some/lab:1: 401 Unauthorized)',
    })
    const misnamed = waitingFor('InvalidImageName', '')
    expect(judgeStart(misnamed, [missed('pod-uid')])).toMatchObject({ kind: 'doomed' })
  })
})

describe('judgeLife', () => {
  it('returns healthy while the container runs, with the number of restarts', () => {
    expect(judgeLife(podOf(ready, { phase: 'Running', everReady: true }))).toEqual({
      kind: 'healthy',
      restarts: 0,
      message: '',
    })
    const restarted = podOf({ ...ready, restartCount: 2, lastTerminated: crash }, { phase: 'Running', everReady: true })
    expect(judgeLife(restarted)).toEqual({
      kind: 'healthy',
      restarts: 2,
      message: 'The lab stopped: exit code 3\nTraceback\nImportError: no module',
    })
  })

  it.each<[string, Partial<ContainerFacts>]>([
    ['just crashed', { terminated: crash }],
    ['waiting', { waiting: { reason: 'CrashLoopBackOff', message: '' }, restartCount: 4, lastTerminated: crash }],
    ['coming up again', { running: true, restartCount: 1, lastTerminated: crash }],
  ])('returns crashing when the container is: %s', (_, container) => {
    expect(judgeLife(podOf(container, { phase: 'Running' }))).toEqual({
      kind: 'crashing',
      restarts: container.restartCount ?? 0,
      message: expect.stringContaining('exit code 3'),
    })
  })

  it('returns ended when the pod ended by itself with success', () => {
    expect(judgeLife(podFacts({ phase: 'Succeeded' }))).toEqual({ kind: 'ended', message: 'The lab was shut down' })
  })

  it('returns ended for a pod with the annotation that stops it, if that is heeded', () => {
    const stamped = podOf(ready, { phase: 'Running', everReady: true, stopped: '' })
    expect(judgeLife(stamped).kind).toBe('healthy')
    expect(judgeLife(stamped, true)).toEqual({
      kind: 'ended',
      message: 'The lab was stopped by the annotation kubeflow-resource-stopped of its pod',
    })
    expect(judgeLife(podOf(ready, { phase: 'Running', everReady: true }), true).kind).toBe('healthy')
    expect(judgeLife({ ...stamped, deleting: true }, true).kind).toBe('healthy')
    expect(judgeLife({ ...stamped, phase: 'Failed' }, true).kind).toBe('failed')
  })

  it('returns failed when the pod was ended from outside, even with success', () => {
    expect(judgeLife(podFacts({ phase: 'Succeeded', deleting: true, reason: 'EvictionByEvictionAPI' }))).toEqual({
      kind: 'failed',
      message:
        "The lab's pod was deleted from outside: it was evicted from its node, which is probably under maintenance",
    })
  })

  it('returns failed when the pod failed', () => {
    const oom = containerFacts({ terminated: terminationFacts({ exitCode: 137, reason: 'OOMKilled' }) })
    expect(judgeLife(podFacts({ phase: 'Failed', containers: [oom] }))).toEqual({
      kind: 'failed',
      message: 'The lab stopped: it used more memory than its size allows, exit code 137',
    })
  })

  it('returns unknown when the node is silent', () => {
    for (const facts of [{ unheard: true }, { phase: 'Unknown' }] as const) {
      expect(judgeLife(podOf(ready, facts))).toMatchObject({ kind: 'unknown' })
    }
  })

  it('returns healthy on a silent node while the pod is being deleted', () => {
    expect(judgeLife(podOf(ready, { unheard: true, deleting: true }))).toMatchObject({ kind: 'healthy' })
  })
})

describe('isWhole', () => {
  it.each<[string, PodFacts, boolean]>([
    ['started', podOf({ started: true }), true],
    ['started, owned by another namespace', podOf({ started: true }, { ownerUid: 'other' }), false],
    ['started, owned by none', podOf({ started: true }, { ownerUid: undefined }), false],
    ['not started', podOf({ running: true }), false],
    ['started once, crashed since', podOf({ restartCount: 1 }, { everReady: true }), true],
    ['never started, restarted all the same', podOf({ restartCount: 1 }, { everReady: false }), false],
    ['restarted, in doubt', podOf({ restartCount: 1 }), true],
  ])('is, for a pod that %s: %s', (_, pod, whole) => {
    expect(isWhole(pod, 'namespace-uid')).toBe(whole)
  })
})

describe('eventForUser', () => {
  it('returns the cluster’s message', () => {
    expect(eventForUser(podEventFacts())).toEqual({ event: 'info', data: 'Pulling image "some/lab:1"' })
    expect(eventForUser(podEventFacts({ warning: true, reason: 'FailedScheduling', message: '0/1 nodes' }))).toEqual({
      event: 'error',
      data: '0/1 nodes',
    })
  })

  it('returns the same for a repeat', () => {
    expect(eventForUser(podEventFacts({ count: 9 }))).toEqual(eventForUser(podEventFacts()))
  })

  it('returns the reason without a message, and null without both', () => {
    expect(eventForUser(podEventFacts({ message: ' ', reason: 'Killing' }))?.data).toBe('Killing')
    expect(eventForUser(podEventFacts({ message: '', reason: '' }))).toBeNull()
  })

  it('returns null for ordinary events', () => {
    const probe = { warning: true, reason: 'Unhealthy', message: 'Startup probe failed: connection refused' }
    expect(eventForUser(podEventFacts(probe))).toBeNull()
    expect(eventForUser(podEventFacts({ ...probe, message: 'Liveness probe failed' }))).not.toBeNull()
    const nameless = { warning: true, reason: 'MissingClusterDNS', message: 'kubelet does not have ClusterDNS IP' }
    expect(eventForUser(podEventFacts(nameless))).toBeNull()
    const skipped = { warning: true, reason: 'FailedScheduling', message: 'skip schedule deleting pod: a/b' }
    expect(eventForUser(podEventFacts(skipped))).toBeNull()
  })

  it('hides secrets', () => {
    const data = eventForUser(podEventFacts({ message: 'Get "https://r.example.org/?sig=abc"' }))?.data
    expect(data).toBe('Get "https://r.example.org/?***"')
  })
})
