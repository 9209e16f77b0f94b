/** Projects Kubernetes' objects to the facts that we keep of them. Pure. */
import type { KubeObject } from '../../base/domain.ts'
import type { JsonObject } from '../../base/json.ts'
import { asNumber, asObject, asObjects, asOptionalText, asText, asTimeMs } from '../../base/json.ts'
import { annotations, labels, stamps } from '../labels.ts'
import type {
  ContainerFacts,
  NamespaceFacts,
  PodEventFacts,
  PodFacts,
  PodIdleFacts,
  TerminationFacts,
} from './facts.ts'

/** Conditions of a namespace that prevent its deletion while they are true. */
const obstacleConditions = new Set([
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
  'NamespaceContentRemaining',
  'NamespaceFinalizersRemaining',
])

const phases: readonly string[] = ['Pending', 'Running', 'Succeeded', 'Failed'] satisfies PodFacts['phase'][]

/** A kubelet sets a pod not Ready at the moment of its start time. Both times are rounded to seconds. */
const startToleranceMs = 1000

/** Facts of a Namespace. */
export function projectNamespace(object: KubeObject): NamespaceFacts {
  const { metadata } = object
  const status = asObject(object.status)
  const terminating = metadata.deletionTimestamp !== undefined || status.phase === 'Terminating'
  return {
    name: metadata.name,
    uid: asText(metadata.uid),
    installation: metadata.labels?.[labels.installation],
    op: opOf(object),
    user: metadata.annotations?.[annotations.user],
    record: metadata.annotations?.[annotations.record],
    recordMac: metadata.annotations?.[annotations.recordMac],
    terminating,
    obstacles: terminating ? obstaclesOf(metadata, status) : [],
  }
}

function obstaclesOf(metadata: JsonObject, status: JsonObject): string[] {
  const messages = asObjects(status.conditions)
    .filter(condition => condition.status === 'True' && obstacleConditions.has(asText(condition.type)))
    .map(condition => asText(condition.message) || asText(condition.type))
  return [...messages, ...finalizersOf(metadata).map(name => `The namespace has the finalizer ${name}`)]
}

function finalizersOf(metadata: JsonObject): string[] {
  return Array.isArray(metadata.finalizers) ? metadata.finalizers.map(String) : []
}

/** Facts of a Pod. */
export function projectPod(object: KubeObject): PodFacts {
  const { metadata } = object
  const status = asObject(object.status)
  const conditions = new Map(asObjects(status.conditions).map(entry => [asText(entry.type), entry]))
  const containers = asObjects(status.containerStatuses).map(projectContainer)
  const disruption = conditions.get('DisruptionTarget')
  const why = status.reason || disruption?.status !== 'True' ? status : disruption
  const deleting = metadata.deletionTimestamp !== undefined
  const everReady = wasEverReady(conditions.get('Ready'), status)
  const stopped = metadata.annotations?.[stamps.stopped]
  return {
    name: metadata.name,
    namespace: asText(metadata.namespace),
    uid: asText(metadata.uid),
    installation: metadata.labels?.[labels.installation],
    op: opOf(object),
    user: metadata.annotations?.[annotations.user],
    ownerUid: metadata.ownerReferences?.find(owner => owner.kind === 'Namespace' && owner.apiVersion === 'v1')?.uid,
    phase: phaseOf(status.phase),
    reason: asText(why.reason),
    message: asText(why.message),
    deleting,
    node: asOptionalText(asObject(object.spec).nodeName),
    unschedulable: unschedulableOf(conditions.get('PodScheduled')),
    ...(everReady !== undefined && { everReady }),
    unheard: isUnheard(conditions.get('Ready'), status, containers),
    finalizers: finalizersOf(metadata),
    ...(stopped !== undefined && { stopped }),
    ...idleFacts(object, status, conditions.get('Ready')),
    initContainers: asObjects(status.initContainerStatuses).map(projectContainer),
    containers,
  }
}

function idleFacts(
  { metadata, spec }: KubeObject,
  status: JsonObject,
  ready: JsonObject | undefined,
): { readonly idle: PodIdleFacts } | undefined {
  const ip = asText(status.podIP)
  if (ip === '') return undefined
  const { hostNetwork, containers } = asObject(spec)
  const kept = { lastActivity: stamps.lastActivity, checked: stamps.checked, keepUntil: stamps.keepUntil }
  const written = Object.entries({ ...kept, size: annotations.size }).flatMap(([field, name]) => {
    const value = metadata.annotations?.[name]
    return value === undefined ? [] : [[field, value] as const]
  })
  return {
    idle: {
      ip,
      ready: ready?.status === 'True',
      hostNetwork: hostNetwork === true,
      image: asText(asObjects(containers)[0]?.image),
      startedAtMs: asTimeMs(status.startTime),
      ...Object.fromEntries(written),
    },
  }
}

/** A pod without status has not been handled by anything yet. */
function phaseOf(phase: unknown): PodFacts['phase'] {
  if (phase === undefined || phase === '') return 'Pending'
  return phases.includes(asText(phase)) ? (phase as PodFacts['phase']) : 'Unknown'
}

function unschedulableOf(scheduled: JsonObject | undefined): string | undefined {
  if (scheduled?.status !== 'False') return undefined
  return asText(scheduled.message) || asText(scheduled.reason) || 'The scheduler found no node'
}

/** A pod that is not Ready, and whose condition changed after its node accepted it, was Ready in between. */
function wasEverReady(ready: JsonObject | undefined, status: JsonObject): boolean | undefined {
  if (ready?.status === 'True') return true
  const changedMs = asTimeMs(ready?.lastTransitionTime)
  const startedMs = asTimeMs(status.startTime)
  if (changedMs === 0 || startedMs === 0) return undefined
  return changedMs > startedMs + startToleranceMs
}

/**
 * When a node goes silent, the node controller changes only the pod's readiness. The containers remain ready, as the
 * kubelet reported last. The kubelet itself never writes such a contradiction.
 */
function isUnheard(ready: JsonObject | undefined, status: JsonObject, containers: readonly ContainerFacts[]): boolean {
  if (status.phase === 'Unknown' || status.reason === 'NodeLost') return true
  const silenced = ready?.status === 'False' || ready?.status === 'Unknown'
  return silenced && containers.length > 0 && containers.every(container => container.ready)
}

function projectContainer(status: JsonObject): ContainerFacts {
  const state = asObject(status.state)
  const waiting = asObject(state.waiting)
  return {
    name: asText(status.name),
    started: status.started === true,
    ready: status.ready === true,
    restartCount: asNumber(status.restartCount),
    ...(asText(status.containerID) !== '' && { hasId: true }),
    waiting: state.waiting ? { reason: asText(waiting.reason), message: asText(waiting.message) } : undefined,
    running: state.running !== undefined,
    terminated: terminationOf(state.terminated),
    lastTerminated: terminationOf(asObject(status.lastState).terminated),
  }
}

function terminationOf(value: unknown): TerminationFacts | undefined {
  if (!value) return undefined
  const terminated = asObject(value)
  return {
    exitCode: asNumber(terminated.exitCode),
    reason: asText(terminated.reason),
    message: asText(terminated.message),
    finishedAtMs: asTimeMs(terminated.finishedAt),
  }
}

/** Facts of an Event of the core API that is about a pod. */
export function projectPodEvent(object: KubeObject): PodEventFacts {
  const involved = asObject(object.involvedObject)
  const series = asObject(object.series)
  const container = /^spec\.containers\{(.+)\}$/.exec(asText(involved.fieldPath))?.[1]
  return {
    uid: asText(object.metadata.uid),
    namespace: asText(object.metadata.namespace),
    pod: asText(involved.name),
    podUid: asText(involved.uid),
    ...(container !== undefined && { container }),
    warning: object.type === 'Warning',
    reason: asText(object.reason),
    message: asText(object.message),
    count: asNumber(series.count) || asNumber(object.count) || 1,
  }
}

function opOf(object: KubeObject): number | undefined {
  const text = object.metadata.labels?.[labels.op] ?? ''
  const op = Number(text)
  return /^[1-9][0-9]*$/.test(text) && Number.isSafeInteger(op) ? op : undefined
}
