/**
 * Judgement of pods: from facts to what they mean for a lab, in words for its user. Pure.
 *
 * A verdict is drawn from what stands there now, never from what changed: who comes late judges the same.
 */

import { cleanLastLines, cleanWords } from '../../base/text.ts'
import type { ContainerFacts, LifeVerdict, PodEventFacts, PodFacts, StartVerdict, TerminationFacts } from './facts.ts'
import { judgePull, pullReasons, secretMissed, tellsCause } from './pulling.ts'

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

/** What users are told of a container, by what it is there for. */
interface Words {
  readonly image: string
  readonly container: string
  readonly crash: string
}

const ofLab: Words = {
  image: 'The image',
  container: "The lab's container",
  crash: 'The lab stopped before it had started',
}

/** Of the init container (SQR-066, "User provisioning"). It would be run again and again; its first failure is the end. */
const ofPreparation: Words = {
  image: 'The image that prepares the lab',
  container: 'The container that prepares the lab',
  crash: 'The lab could not be prepared',
}

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
  if (hasStarted(pod)) return { kind: 'ready' }
  const unprepared = pod.initContainers.find(hasFailed)
  if (unprepared) return judgeCrash(unprepared, ofPreparation)
  const crashed = pod.containers.find(hasCrashed)
  if (crashed) return judgeCrash(crashed, ofLab)
  return (
    judgeWaiting(pod, pod.initContainers, ofPreparation, events) ??
    judgeWaiting(pod, pod.containers, ofLab, events) ??
    judgePlace(pod)
  )
}

/**
 * Whether the cluster has told of the start of every container. A kubelet tells of what it did in order, so nothing from
 * before the start is on its way then. Where no runtime has named a container, nobody tells of it.
 */
export function isStartTold(pod: PodFacts, events: readonly PodEventFacts[]): boolean {
  const started = new Set(events.filter(({ reason }) => reason === 'Started').map(({ container }) => container))
  return pod.containers.every(({ name, hasId }) => !hasId || started.has(name))
}

/** What users are told while their lab is prepared; null at any other time. */
export function tellPreparation(pod: PodFacts): string | null {
  return pod.initContainers.some(({ running }) => running) ? 'Preparing what the lab needs' : null
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

/** An init container that crashed, and has not ended well since. */
function hasFailed(container: ContainerFacts): boolean {
  return hasCrashed(container) && container.terminated?.exitCode !== 0
}

function badEnd({ terminated, lastTerminated }: ContainerFacts): TerminationFacts | undefined {
  return [terminated, lastTerminated].find(end => end !== undefined && end.exitCode !== 0)
}

/** A container that could not even be run may have met a runtime out of breath. */
function judgeCrash(container: ContainerFacts, words: Words): StartVerdict {
  const end = badEnd(container)!
  const neverRan = end.reason === 'StartError' || end.reason === 'ContainerCannotRun'
  const message = `${words.crash}: ${crashOf(container)}`
  if (neverRan && !finalCreationCause.test(end.message)) return { kind: 'troubled', cause: 'unknown', message }
  return { kind: 'doomed', message }
}

function judgeWaiting(
  pod: PodFacts,
  containers: readonly ContainerFacts[],
  words: Words,
  events: readonly PodEventFacts[],
): StartVerdict | undefined {
  for (const { waiting } of containers) {
    if (!waiting) continue
    const { reason, message } = waiting
    if (pullReasons.has(reason)) {
      const withoutSecret = events.some(event => event.podUid === pod.uid && event.reason === secretMissed)
      return judgePull(reason, pullCause(pod, message, events), { image: words.image, withoutSecret })
    }
    if (creationReasons.has(reason)) return judgeCreation(reason, message, words)
  }
  return undefined
}

/** The scheduler counts these among its reasons that no node will do. */
const missingVolume = /persistentvolumeclaim|persistent volumes? to bind/i

function judgePlace(pod: PodFacts): StartVerdict {
  if (pod.unschedulable !== undefined && !pod.node) {
    const what = missingVolume.test(pod.unschedulable)
      ? 'A volume of the lab is not there'
      : 'There is no room for the lab'
    return { kind: 'troubled', cause: 'no-room', message: `${what} at the moment (${cleanWords(pod.unschedulable)})` }
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

function judgeCreation(reason: string, cause: string, words: Words): StartVerdict {
  const message = `${words.container} could not be made (${cleanWords(cause) || reason})`
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
  // A node that was restarted runs it anew.
  const unprepared = pod.initContainers.find(hasFailed)
  if (unprepared) return { kind: 'crashing', restarts, message: `${ofPreparation.crash} again: ${crashOf(unprepared)}` }
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
