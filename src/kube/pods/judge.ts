/**
 * Judges pods: from facts to their meaning for a lab, with a message for its user. Pure.
 *
 * A verdict depends only on the current state, never on changes, so every replica judges the same at any time.
 */

import { cleanLastLines, cleanWords } from '../../base/text.ts'
import { stamps } from '../labels.ts'
import type { ContainerFacts, LifeVerdict, PodEventFacts, PodFacts, StartVerdict, TerminationFacts } from './facts.ts'
import { hasCause, judgePull, pullReasons, secretMissed } from './pulling.ts'
import { labWords, reasonsInWords, type ThingWords, type Words } from './words.ts'

/** Container states whose cause may be in the container's own settings. */
const creationReasons = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'PreCreateHookError',
  'PreStartHookError',
  'PostStartHookError',
])

/** Causes among these that a retry does not remove. All others (a ConfigMap not seen yet, a busy runtime) may pass. */
const finalCreationCause =
  /executable file not found|exec: "[^"]*": (stat |permission denied|is a directory|no such file)|exec format error|no command specified|runAsNonRoot|not a directory|invalid (mount|capability)/i

/**
 * The state of a pod that is to become a lab.
 * @param events the cluster's events for this pod so far, oldest first. A kubelet that waits before it pulls an image
 *   again may have reported the cause only there
 */
export function judgeStart(
  pod: PodFacts,
  events: readonly PodEventFacts[] = [],
  words: ThingWords = labWords,
): StartVerdict {
  if (pod.phase === 'Succeeded' && !pod.deleting) return { kind: 'ended' }
  if (pod.phase === 'Failed') return { kind: 'doomed', message: failureOf(pod, words) }
  if (pod.deleting) return { kind: 'doomed', message: deletedWords(pod, words) }
  if (hasStarted(pod)) return { kind: 'ready' }
  // An init container would be restarted for ever, so its first failure is final (SQR-066, "User provisioning").
  const unprepared = pod.initContainers.find(hasFailed)
  if (unprepared) return judgeCrash(unprepared, words.preparation)
  const crashed = pod.containers.find(hasCrashed)
  if (crashed) return judgeCrash(crashed, words.main)
  return (
    judgeWaiting(pod, pod.initContainers, words.preparation, events) ??
    judgeWaiting(pod, pod.containers, words.main, events) ??
    judgePlace(pod, words)
  )
}

/**
 * Whether events have reported the start of every container. A kubelet sends events in order, so all events from before
 * the start have then arrived. No event is expected for a container without an id from the runtime.
 */
export function isStartReported(pod: PodFacts, events: readonly PodEventFacts[]): boolean {
  const started = new Set(events.filter(({ reason }) => reason === 'Started').map(({ container }) => container))
  return pod.containers.every(({ name, hasId }) => !hasId || started.has(name))
}

/** The message for users while their lab is being prepared; null at any other time. */
export function preparationMessage(pod: PodFacts): string | null {
  return pod.initContainers.some(({ running }) => running) ? 'Preparing what the lab needs' : null
}

/** A lab that started once counts as ready for ever; `judgeLife` judges what happens later. */
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

/** An init container that crashed, and has not succeeded since. */
function hasFailed(container: ContainerFacts): boolean {
  return hasCrashed(container) && container.terminated?.exitCode !== 0
}

function badEnd({ terminated, lastTerminated }: ContainerFacts): TerminationFacts | undefined {
  return [terminated, lastTerminated].find(end => end !== undefined && end.exitCode !== 0)
}

/** A container that could not even be started may have met an overloaded runtime. */
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

/** The scheduler counts these among its reasons why no node fits. */
const missingVolume = /persistentvolumeclaim|persistent volumes? to bind/i

function judgePlace(pod: PodFacts, words: ThingWords): StartVerdict {
  if (pod.unschedulable !== undefined && !pod.node) {
    const what = missingVolume.test(pod.unschedulable)
      ? `A volume of the ${words.thing} is not there`
      : `There is no room for the ${words.thing}`
    return { kind: 'troubled', cause: 'no-room', message: `${what} at the moment (${cleanWords(pod.unschedulable)})` }
  }
  if (isSilent(pod)) return { kind: 'troubled', cause: 'unknown', message: unheardWords(pod, words) }
  return { kind: 'starting' }
}

function pullCause(pod: PodFacts, message: string, events: readonly PodEventFacts[]): string {
  if (hasCause(message)) return message
  const event = events.findLast(
    event => event.podUid === pod.uid && event.reason === 'Failed' && event.message.startsWith('Failed to pull image'),
  )
  return event?.message ?? message
}

function judgeCreation(reason: string, cause: string, words: Words): StartVerdict {
  const message = `${words.container} could not be made (${cleanWords(cause) || reason})`
  if (finalCreationCause.test(cause)) return { kind: 'doomed', message }
  return { kind: 'troubled', cause: 'unknown', message }
}

/**
 * The state of a running lab's pod.
 * @param heedsStamp whether the annotation that stops notebooks ends a lab too, whoever wrote it
 */
export function judgeLife(pod: PodFacts, heedsStamp = false, words: ThingWords = labWords): LifeVerdict {
  if (pod.phase === 'Failed') return { kind: 'failed', message: failureOf(pod, words) }
  // A lab that was stopped from outside ends with success too, but not at its user's request.
  if (pod.phase === 'Succeeded')
    return pod.deleting
      ? { kind: 'failed', message: deletedWords(pod, words) }
      : { kind: 'ended', message: `The ${words.thing} was shut down` }
  if (heedsStamp && pod.stopped !== undefined && !pod.deleting) return { kind: 'ended', message: stampedWords }
  if (isSilent(pod)) return { kind: 'unknown', message: unheardWords(pod, words) }
  const restarts = pod.containers.reduce((sum, container) => sum + container.restartCount, 0)
  // A restarted node runs the init container again.
  const unprepared = pod.initContainers.find(hasFailed)
  if (unprepared)
    return { kind: 'crashing', restarts, message: `${words.preparation.crash} again: ${crashOf(unprepared)}` }
  const crashed = pod.containers.find(hasCrashed)
  const message = crashed ? `The ${words.thing} stopped: ${crashOf(crashed)}` : ''
  return { kind: crashed && !crashed.started ? 'crashing' : 'healthy', restarts, message }
}

/**
 * Whether a pod is a lab that ever started, owned by this namespace. Once true it stays true. If the cluster leaves it
 * in doubt (a container was restarted, and nothing shows whether it had started before) it is true.
 */
export function isWhole(pod: PodFacts, namespaceUid: string): boolean {
  if (pod.ownerUid !== namespaceUid) return false
  if (pod.everReady || pod.containers.some(container => container.started)) return true
  return pod.everReady === undefined && pod.containers.some(container => container.restartCount > 0)
}

/**
 * The message for users about a Kubernetes Event of their pod, or null when it is not useful to them. A repeat gives
 * the same message as the first.
 */
export function eventForUser(event: PodEventFacts): { event: 'info' | 'error'; data: string } | null {
  if (isNoise(event)) return null
  const data = cleanWords(event.message) || cleanWords(event.reason)
  return data ? { event: event.warning ? 'error' : 'info', data } : null
}

/**
 * The start-up probe fails each second while a lab starts. A cluster without DNS reports it at every sync of a pod. A
 * pod that is being deleted is no longer scheduled.
 */
function isNoise({ reason, message }: PodEventFacts): boolean {
  if (reason === 'Unhealthy') return message.startsWith('Startup probe')
  if (reason === 'FailedScheduling') return message.startsWith('skip schedule deleting pod')
  return reason === 'MissingClusterDNS'
}

const stampedWords = `The lab was stopped by the annotation ${stamps.stopped} of its pod`

function failureOf(pod: PodFacts, { thing }: ThingWords): string {
  const crashed = [...pod.initContainers, ...pod.containers].find(hasCrashed)
  if (pod.reason === '')
    return `The ${thing} stopped${crashed ? `: ${crashOf(crashed)}` : ', and the cluster does not say why'}`
  return `The ${thing} stopped: ${reasonWords(pod)}`
}

function deletedWords(pod: PodFacts, { thing }: ThingWords): string {
  return `The ${thing}'s pod was deleted from outside${pod.reason ? `: ${reasonWords(pod)}` : ''}`
}

function unheardWords(pod: PodFacts, { thing }: ThingWords): string {
  return `The ${thing}'s node${pod.node ? ` ${pod.node}` : ''} has gone silent`
}

function reasonWords({ reason, message }: PodFacts): string {
  const words = reasonsInWords[reason] ?? reason
  const detail = cleanWords(message)
  return detail ? `${words} (${detail})` : words
}

/** The error with which a container ended, with the last lines of its output. */
function crashOf(container: ContainerFacts): string {
  const end = badEnd(container)!
  const lines = cleanLastLines(end.message)
  const words = end.reason === 'OOMKilled' ? `${reasonsInWords.OOMKilled}, ` : ''
  return `${words}exit code ${end.exitCode}${lines ? `\n${lines}` : ''}`
}
