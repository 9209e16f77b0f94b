import { describe, expect, it } from 'vitest'
import { containerFacts } from '../../../test/kit/labs/pod-facts.ts'
import type { KubeObject } from '../../base/domain.ts'
import { isWhole, judgeLife, judgeStart } from './judge.ts'
import { projectNamespace, projectPod, projectPodEvent } from './project.ts'

const labels = { 'skylab/installation': 'skylab', 'skylab/op': '1700000000001' }
const ownerReferences = [{ apiVersion: 'v1', kind: 'Namespace', name: 'nublado-ada', uid: 'namespace-uid' }]

describe('projectNamespace', () => {
  const namespace = (metadata: object = {}, rest: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: 'nublado-ada',
      uid: 'namespace-uid',
      labels,
      annotations: { 'skylab/user': 'ada', 'skylab/record': '{}' },
      ...metadata,
    },
    ...rest,
  })

  it('reads labels and annotations', () => {
    expect(projectNamespace(namespace())).toEqual({
      name: 'nublado-ada',
      uid: 'namespace-uid',
      installation: 'skylab',
      op: 1700000000001,
      user: 'ada',
      record: '{}',
      terminating: false,
      obstacles: [],
    })
  })

  it('leaves out missing fields', () => {
    const bare = projectNamespace({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
    expect(bare).toEqual({
      name: 'default',
      uid: '',
      installation: undefined,
      op: undefined,
      user: undefined,
      record: undefined,
      terminating: false,
      obstacles: [],
    })
  })

  it.each(['', '0', '-1', '1e3', ' 7', '07', '9007199254740993', 'x'])('takes no op from %j', op => {
    expect(projectNamespace(namespace({ labels: { 'skylab/op': op } })).op).toBeUndefined()
  })

  it('quotes the obstacles to a deletion', () => {
    const conditions = [
      { type: 'NamespaceContentRemaining', status: 'True', message: 'Some resources are remaining: pods. has 1' },
      { type: 'NamespaceFinalizersRemaining', status: 'True', message: 'Some content has finalizers remaining: x' },
      { type: 'NamespaceDeletionDiscoveryFailure', status: 'False', message: 'All resources were discovered' },
      { type: 'Odd', status: 'True', message: 'odd' },
    ]
    const going = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.org/keep'] }
    const facts = projectNamespace(namespace(going, { status: { phase: 'Terminating', conditions } }))
    expect(facts.terminating).toBe(true)
    expect(facts.obstacles).toEqual([
      'Some resources are remaining: pods. has 1',
      'Some content has finalizers remaining: x',
      'The namespace has the finalizer example.org/keep',
    ])
    expect(projectNamespace(namespace({ finalizers: ['x'] })).obstacles).toEqual([])
  })
})

/** A pod as a kubelet reports it, in seconds after its start. */
function pod(status: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'nb-ada', namespace: 'nublado-ada', uid: 'pod-uid', labels, ownerReferences, ...metadata },
    spec: { nodeName: 'node-1' },
    status,
  }
}

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString().replace('.000', '')
const readyAt = (second: number, status: string) => ({ type: 'Ready', status, lastTransitionTime: at(second) })
const crashed = { exitCode: 1, reason: 'Error', message: 'boom', finishedAt: at(5) }

describe('projectPod', () => {
  it('reads a pod without status', () => {
    expect(projectPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace: 'y' } })).toEqual({
      name: 'x',
      namespace: 'y',
      uid: '',
      installation: undefined,
      op: undefined,
      user: undefined,
      ownerUid: undefined,
      phase: 'Pending',
      reason: '',
      message: '',
      deleting: false,
      node: undefined,
      unschedulable: undefined,
      unheard: false,
      finalizers: [],
      initContainers: [],
      containers: [],
    })
  })

  it('reads a running lab', () => {
    const facts = projectPod(
      pod({
        phase: 'Running',
        startTime: at(0),
        conditions: [readyAt(9, 'True'), { type: 'PodScheduled', status: 'True' }],
        containerStatuses: [
          {
            name: 'lab',
            started: true,
            ready: true,
            restartCount: 1,
            state: { running: { startedAt: at(6) } },
            lastState: { terminated: crashed },
          },
        ],
        initContainerStatuses: [{ name: 'init', state: { waiting: { reason: 'PodInitializing' } } }],
      }),
    )
    expect(facts).toMatchObject({ op: 1700000000001, ownerUid: 'namespace-uid', phase: 'Running', node: 'node-1' })
    expect(facts).toMatchObject({ everReady: true, unheard: false, deleting: false })
    const lastTerminated = { exitCode: 1, reason: 'Error', message: 'boom', finishedAtMs: Date.parse(at(5)) }
    const running = { running: true, started: true, ready: true }
    expect(facts.containers).toEqual([containerFacts({ ...running, restartCount: 1, lastTerminated })])
    const waiting = { reason: 'PodInitializing', message: '' }
    expect(facts.initContainers).toEqual([containerFacts({ name: 'init', waiting })])
    expect(judgeLife(facts)).toMatchObject({ kind: 'healthy', restarts: 1 })
  })

  it('accepts only a namespace as owner', () => {
    const owners = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x', uid: 'x' }]
    expect(projectPod(pod({}, { ownerReferences: owners })).ownerUid).toBeUndefined()
  })

  it('reads the scheduler’s message', () => {
    const scheduled = (message: string) => ({ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message })
    expect(projectPod(pod({ conditions: [scheduled('0/1 nodes')] })).unschedulable).toBe('0/1 nodes')
    expect(projectPod(pod({ conditions: [scheduled('')] })).unschedulable).toBe('Unschedulable')
  })

  it('reads the reason of a disruption when the status has none', () => {
    const disruption = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction',
    }
    expect(projectPod(pod({ conditions: [disruption] }))).toMatchObject({ reason: 'EvictionByEvictionAPI' })
    expect(projectPod(pod({ reason: 'Evicted', conditions: [disruption] }))).toMatchObject({ reason: 'Evicted' })
    expect(projectPod(pod({ conditions: [{ ...disruption, status: 'False' }] }))).toMatchObject({ reason: '' })
  })

  it('reads an unknown phase, and a pod that is being deleted', () => {
    expect(projectPod(pod({ phase: 'Odd' })).phase).toBe('Unknown')
    expect(projectPod(pod({}, { deletionTimestamp: at(1) })).deleting).toBe(true)
  })
})

describe('projectPod’s everReady', () => {
  const restarted = { name: 'lab', started: false, restartCount: 1, lastState: { terminated: crashed } }
  const crashedLab = (...conditions: object[]) =>
    projectPod(pod({ phase: 'Running', startTime: at(0), conditions, containerStatuses: [restarted] }))

  it('distinguishes a lab that crashed during its start from one that ran', () => {
    const never = crashedLab(readyAt(1, 'False'))
    expect(never.everReady).toBe(false)
    expect(isWhole(never, 'namespace-uid')).toBe(false)
    expect(judgeStart(never).kind).toBe('doomed')
    const once = crashedLab(readyAt(5, 'False'))
    expect(once.everReady).toBe(true)
    expect(isWhole(once, 'namespace-uid')).toBe(true)
    expect(judgeStart(once).kind).toBe('ready')
  })

  it('is absent without the times', () => {
    expect(crashedLab()).not.toHaveProperty('everReady')
    expect(crashedLab({ type: 'Ready', status: 'False' })).not.toHaveProperty('everReady')
    expect(isWhole(crashedLab(), 'namespace-uid')).toBe(true)
  })
})

describe('projectPod’s unheard', () => {
  const containerStatuses = [{ name: 'lab', started: true, ready: true, state: { running: {} } }]
  const conditions = [readyAt(60, 'False')]

  it('is true when the pod is not ready while its containers are reported as ready', () => {
    expect(projectPod(pod({ phase: 'Running', conditions, containerStatuses })).unheard).toBe(true)
    expect(projectPod(pod({ phase: 'Running', reason: 'NodeLost' })).unheard).toBe(true)
    expect(projectPod(pod({ phase: 'Unknown' })).unheard).toBe(true)
  })

  it('is absent when containers are not ready, but not for a pod that is being deleted', () => {
    const starting = [{ ...containerStatuses[0], ready: false }]
    expect(projectPod(pod({ phase: 'Running', conditions, containerStatuses: starting })).unheard).toBe(false)
    expect(projectPod(pod({ phase: 'Pending', conditions })).unheard).toBe(false)
    const going = pod({ phase: 'Running', conditions, containerStatuses }, { deletionTimestamp: at(61) })
    expect(projectPod(going).unheard).toBe(true)
  })
})

describe('projectPod for the idle engine', () => {
  const pod = (status: object, spec: object = {}, annotations: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'nb-ada',
      namespace: 'nublado-ada',
      uid: 'u',
      annotations: annotations as Record<string, string>,
    },
    spec: {
      containers: [
        { name: 'lab', image: 'lab-gpu:1' },
        { name: 'other', image: 'x' },
      ],
      ...spec,
    },
    status,
  })
  const serving = {
    podIP: '10.0.0.7',
    startTime: '2026-11-24T10:00:00Z',
    conditions: [{ type: 'Ready', status: 'True' }],
  }

  it('reads where it is, what it runs, and annotations as they stand', () => {
    const annotations = {
      'skylab/size': 'large',
      'notebooks.kubeflow.org/last-activity': 'x',
      'notebooks.kubeflow.org/last_activity_check_timestamp': 'y',
      'user.skylab/keep-until': 'z',
      'kubeflow-resource-stopped': 's',
    }
    const facts = projectPod(pod(serving, {}, annotations))
    expect(facts.stopped).toBe('s')
    expect(facts.idle).toEqual({
      ip: '10.0.0.7',
      ready: true,
      hostNetwork: false,
      image: 'lab-gpu:1',
      startedAtMs: Date.parse('2026-11-24T10:00:00Z'),
      ...{ size: 'large', lastActivity: 'x', checked: 'y', keepUntil: 'z' },
    })
  })

  it('shows a pod that may not be asked, and nothing of a pod without an address', () => {
    const silenced = { ...serving, conditions: [{ type: 'Ready', status: 'False' }] }
    expect(projectPod(pod(silenced, { hostNetwork: true })).idle).toMatchObject({ ready: false, hostNetwork: true })
    expect(projectPod(pod({ ...serving, podIP: undefined })).idle).toBeUndefined()
  })
})

describe('projectPodEvent', () => {
  const event = (fields: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'nb-ada.1', namespace: 'nublado-ada', uid: 'event-uid' },
    involvedObject: { kind: 'Pod', name: 'nb-ada', uid: 'pod-uid' },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off',
    ...fields,
  })

  it('reads an event, and the number of its repeats', () => {
    expect(projectPodEvent(event({ count: 3 }))).toEqual({
      uid: 'event-uid',
      namespace: 'nublado-ada',
      pod: 'nb-ada',
      podUid: 'pod-uid',
      warning: true,
      reason: 'BackOff',
      message: 'Back-off',
      count: 3,
    })
    expect(projectPodEvent(event({ count: null, series: { count: 5 } })).count).toBe(5)
    expect(projectPodEvent(event({ type: 'Normal' }))).toMatchObject({ warning: false, count: 1 })
  })

  it.each([
    ['spec.containers{lab}', 'lab'],
    ['spec.initContainers{lab}', undefined],
    ['', undefined],
  ])('reads from the fieldPath %j the container %j', (fieldPath, container) => {
    const involvedObject = { kind: 'Pod', name: 'nb-ada', uid: 'pod-uid', fieldPath }
    expect(projectPodEvent(event({ involvedObject })).container).toBe(container)
  })
})
