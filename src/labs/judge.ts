/**
 * Judgement of pods: from facts to what they mean for a lab, in words for its user. Pure.
 *
 * A verdict is drawn from what stands there now, never from what changed: who comes late judges the same.
 */
import type { ContainerFacts, LifeVerdict, PodEventFacts, PodFacts, StartVerdict, TerminationFacts } from './facts.ts'
import { judgePull, pullReasons, tellsCause } from './pulling.ts'
import { cleanLastLines, cleanWords } from './words.ts'

/** Container states whose cause is in the container's own settings, if it is in any. */
const creationReasons = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'PreCreateHookError',
  'PreStartHookError',
  'PostStartHookError',
])

/** Causes of these that no further try removes. All others (a ConfigMap not seen yet, a busy runtime) may pass. */
const finalCreationCause =
  /executable file not found|exec: "[^"]*": (stat |permission denied|is a directory|no such file)|exec format error|no command specified|runAsNonRoot|not a directory|invalid (mount|capability)/i

const reasonsInWords: Readonly<Record<string, string>> = {
  Evicted: 'its node put it out',
  Preempting: 'its node needed the room for something more important',
  PreemptionByScheduler: 'the scheduler needed the room for something more important',
  EvictionByEvictionAPI: 'it was put out of its node, which is probably being maintained',
  DeletionByTaintManager: 'its node was closed to it',
  DeletionByPodGC: 'its node is gone',
  TerminationByKubelet: 'its node put it out',
  NodeLost: 'its node is gone',
  NodeShutdown: 'its node was shut down',
  Terminated: 'its node was shut down',
  DeadlineExceeded: 'it ran longer than it may',
  OOMKilled: 'it used more memory than its size allows',
  UnexpectedAdmissionError: 'its node refused it',
  NodeAffinity: 'its node refused it',
  OutOfcpu: 'its node had no CPU left',
  OutOfmemory: 'its node had no memory left',
  OutOfpods: 'its node had no place for another pod',
}

/**
 * How a pod that is to become a lab stands.
 * @param events what the cluster told of this pod so far, oldest first: a kubelet that backs off from pulling an image
 *   may have told the cause only there
 */
export function judgeStart(pod: PodFacts, events: readonly PodEventFacts[] = []): StartVerdict {
  if (pod.phase === 'Succeeded' && !pod.deleting) return { kind: 'ended' }
  if (pod.phase === 'Failed') return { kind: 'doomed', message: failureOf(pod) }
  if (pod.deleting) return { kind: 'doomed', message: deletedWords(pod) }
  const failedInit = pod.initContainers.find(hasCrashed)
  if (failedInit) return { kind: 'doomed', message: `The lab could not be prepared: ${crashOf(failedInit)}` }
  if (hasStarted(pod)) return { kind: 'ready' }
  const crashed = pod.containers.find(hasCrashed)
  if (crashed) return judgeCrash(crashed)
  return judgeWaiting(pod, events)
}

/** Started once is ready for ever: what befell the lab since is for `judgeLife` to say. */
function hasStarted(pod: PodFacts): boolean {
  if (pod.everReady) return true
  return pod.containers.length > 0 && pod.containers.every(container => container.started)
}

function isSilent(pod: PodFacts): boolean {
  return !pod.deleting && (pod.unheard === true || pod.phase === 'Unknown')
}

function hasCrashed(container: ContainerFacts): boolean {
  return badEnd(container) !== undefined
}

function badEnd({ terminated, lastTerminated }: ContainerFacts): TerminationFacts | undefined {
  return [terminated, lastTerminated].find(end => end !== undefined && end.exitCode !== 0)
}

/** A container that could not even be run may have met a runtime out of breath. */
function judgeCrash(container: ContainerFacts): StartVerdict {
  const end = badEnd(container)!
  const neverRan = end.reason === 'StartError' || end.reason === 'ContainerCannotRun'
  const message = `The lab stopped before it had started: ${crashOf(container)}`
  if (neverRan && !finalCreationCause.test(end.message)) return { kind: 'troubled', cause: 'unknown', message }
  return { kind: 'doomed', message }
}

function judgeWaiting(pod: PodFacts, events: readonly PodEventFacts[]): StartVerdict {
  for (const { waiting } of [...pod.initContainers, ...pod.containers]) {
    if (!waiting) continue
    if (pullReasons.has(waiting.reason)) return judgePull(waiting.reason, pullCause(pod, waiting.message, events))
    if (creationReasons.has(waiting.reason)) return judgeCreation(waiting.reason, waiting.message)
  }
  if (pod.unschedulable !== undefined && !pod.node) {
    const words = cleanWords(pod.unschedulable)
    return { kind: 'troubled', cause: 'no-room', message: `There is no room for the lab at the moment (${words})` }
  }
  if (isSilent(pod)) return { kind: 'troubled', cause: 'unknown', message: unheardWords(pod) }
  return { kind: 'starting' }
}

function pullCause(pod: PodFacts, message: string, events: readonly PodEventFacts[]): string {
  if (tellsCause(message)) return message
  const told = events.findLast(
    event => event.podUid === pod.uid && event.reason === 'Failed' && event.message.startsWith('Failed to pull image'),
  )
  return told?.message ?? message
}

function judgeCreation(reason: string, cause: string): StartVerdict {
  const message = `The lab's container could not be made (${cleanWords(cause) || reason})`
  if (finalCreationCause.test(cause)) return { kind: 'doomed', message }
  return { kind: 'troubled', cause: 'unknown', message }
}

/** How the pod of a running lab stands. */
export function judgeLife(pod: PodFacts): LifeVerdict {
  if (pod.phase === 'Failed') return { kind: 'failed', message: failureOf(pod) }
  // A lab that someone stopped from outside ends with success too, but its user did not ask for it.
  if (pod.phase === 'Succeeded')
    return pod.deleting ? { kind: 'failed', message: deletedWords(pod) } : { kind: 'ended' }
  if (isSilent(pod)) return { kind: 'unknown', message: unheardWords(pod) }
  const restarts = pod.containers.reduce((sum, container) => sum + container.restartCount, 0)
  const crashed = pod.containers.find(hasCrashed)
  const message = crashed ? `The lab stopped: ${crashOf(crashed)}` : ''
  return { kind: crashed && !crashed.started ? 'crashing' : 'healthy', restarts, message }
}

/**
 * Whether a pod is a lab that ever started, owned by this very namespace. Once true it stays true; where the cluster
 * leaves it in doubt (a container restarted, and nothing tells whether it had started before) it is true.
 */
export function isWhole(pod: PodFacts, namespaceUid: string): boolean {
  if (pod.ownerUid !== namespaceUid) return false
  if (pod.everReady || pod.containers.some(container => container.started)) return true
  return pod.everReady === undefined && pod.containers.some(container => container.restartCount > 0)
}

/**
 * What users are told of a Kubernetes Event about their pod, or null when it says nothing to them. A repeat tells the
 * same as the first.
 */
export function tellEvent(event: PodEventFacts): { event: 'info' | 'error'; data: string } | null {
  if (isNoise(event)) return null
  const data = cleanWords(event.message) || cleanWords(event.reason)
  return data ? { event: event.warning ? 'error' : 'info', data } : null
}

/**
 * While a lab comes up its start-up probe fails each second; a cluster without names says so at every look at a pod; a pod
 * that is being deleted is no longer scheduled.
 */
function isNoise({ reason, message }: PodEventFacts): boolean {
  if (reason === 'Unhealthy') return message.startsWith('Startup probe')
  if (reason === 'FailedScheduling') return message.startsWith('skip schedule deleting pod')
  return reason === 'MissingClusterDNS'
}

function failureOf(pod: PodFacts): string {
  const crashed = [...pod.initContainers, ...pod.containers].find(hasCrashed)
  if (pod.reason === '')
    return `The lab stopped${crashed ? `: ${crashOf(crashed)}` : ', and the cluster does not say why'}`
  return `The lab stopped: ${reasonWords(pod)}`
}

function deletedWords(pod: PodFacts): string {
  return `The lab's pod was deleted from outside${pod.reason ? `: ${reasonWords(pod)}` : ''}`
}

function unheardWords(pod: PodFacts): string {
  return `The lab's node${pod.node ? ` ${pod.node}` : ''} has gone silent`
}

function reasonWords({ reason, message }: PodFacts): string {
  const words = reasonsInWords[reason] ?? reason
  const told = cleanWords(message)
  return told ? `${words} (${told})` : words
}

/** How a container ended badly, with the last lines that it wrote. */
function crashOf(container: ContainerFacts): string {
  const end = badEnd(container)!
  const lines = cleanLastLines(end.message)
  const words = end.reason === 'OOMKilled' ? `${reasonsInWords.OOMKilled}, ` : ''
  return `${words}exit code ${end.exitCode}${lines ? `\n${lines}` : ''}`
}
