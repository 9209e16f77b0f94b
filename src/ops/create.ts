/**
 * The creation of a lab (SQR-066, "POST …/create"): remove older objects, make the namespace, then its content, then the
 * pod, and wait until the lab answers. An undisturbed creation sends one write per object and reads nothing.
 */
import type { LabPlan } from '../base/domain.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { isAlreadyExists } from '../kube/client.ts'
import type { PodEventFacts, PodFacts, StartVerdict } from '../kube/pods/facts.ts'
import { eventForUser, isStartReported, judgeStart, preparationMessage } from '../kube/pods/judge.ts'
import { projectNamespace, projectPod } from '../kube/pods/project.ts'
import { withOwnership } from '../labs/render.ts'
import type { NewEvent } from '../store/records.ts'
import { namespaceRef, podRef } from './cluster.ts'
import { contentMaker, makePod } from './content.ts'
import { type LabContext, type LabResult, type LabStep, watchUntil } from './lab-context.ts'
import { judgeNamespace, removalSteps, requireNotNewer } from './removal.ts'
import { StartOver } from './steps.ts'
import { distrust } from './trust.ts'

/** How long the watches may take to show a new pod, before the API server is asked. */
const unseenMs = 5_000
/** How long a ready lab waits for earlier events, which a kubelet sends separately from the status. */
const lateEventsMs = 1_000

const clear = removalSteps('clear.', 'olderOps', 0, 4)

/** The steps of a creation. */
export function createSteps({ objects }: LabPlan): readonly LabStep[] {
  const pod = objects.at(-1)!
  return [
    ...clear,
    { name: 'make.namespace', kind: 'act', progress: 8, run: makeNamespace },
    { name: 'make.content', kind: 'act', progress: 35, run: contentMaker(objects.slice(0, -1), pod.metadata.name) },
    { name: 'make.pod', kind: 'act', progress: 40, run: context => makePod(context, pod) },
    { name: 'start', kind: 'wait', progress: 100, run: awaitStart },
  ]
}

async function makeNamespace(context: LabContext): Promise<LabResult> {
  const object = context.trust.signed(withOwnership(context.plan!.namespace, context.op, null))
  await context.failpoint('before-act')
  const made = await context.kube.create(object, context.call()).catch(error => {
    if (isAlreadyExists(error)) return null
    throw error
  })
  await context.failpoint('after-act')
  const namespaceUid = made ? made.metadata.uid! : await adoptNamespace(context)
  context.known.namespaceUid = namespaceUid
  const { miscounted } = context.known
  return {
    // A list of steps that began anew may adopt it a second time.
    events: context.unreported([['info', `Created the namespace ${object.metadata.name}`]]),
    // The next owner must know of a quota before it is removed: a removal that comes late must not hit one that it relies on.
    fields: { namespaceUid, ...(miscounted !== undefined && { miscounted }) },
  }
}

/** Handles a namespace that exists already: adopts it if it has this op; otherwise has it removed, or refuses. */
async function adoptNamespace(context: LabContext): Promise<string> {
  const object = await context.kube.get(namespaceRef(context.names.namespace), context.call())
  if (!object) throw new RetryLater('the namespace came and went', 100)
  const namespace = projectNamespace(object)
  const verdict = judgeNamespace(context, namespace)
  if (verdict !== 'ours') throw new NeedsSomeone(distrust('namespace', namespace.name, verdict, context.user))
  requireNotNewer(context, 'namespace', namespace)
  if (namespace.op === context.op && !namespace.terminating) return namespace.uid
  context.known.doubt = true
  throw new StartOver('an older namespace must be removed first')
}

/** An obstacle that may pass, and since when it exists. */
interface Trouble {
  readonly cause: string
  readonly sinceMs: number
}

async function awaitStart(context: LabContext): Promise<LabResult> {
  let trouble: Trouble | undefined
  let readyMs: number | undefined
  const madeMs = context.clock.monotonicMs()
  const last = await watchUntil(context, async wakeInMs => {
    const pod = await findOwnPod(context, madeMs, wakeInMs)
    const events = context.view
      .podEvents(context.names.namespace)
      .filter(event => event.podUid === context.known.podUid)
    const news = newsOf(pod, events)
    if (!pod) {
      await context.report(news)
      return undefined
    }
    const verdict = judgeStart(pod, events)
    if (verdict.kind === 'ready') {
      readyMs ??= context.clock.monotonicMs()
      const leftMs = readyMs + lateEventsMs - context.clock.monotonicMs()
      // No event is written after the last one, so it waits for those that are still to come.
      if (leftMs <= 0 || isStartReported(pod, events)) return context.unreported(news)
      wakeInMs(leftMs)
    }
    await context.report(news)
    if (verdict.kind === 'ready') return undefined
    if (verdict.kind === 'doomed') throw new NeedsSomeone(verdict.message)
    if (verdict.kind === 'ended') throw new NeedsSomeone('The lab ended by itself before it had started')
    trouble = await endureTrouble(context, verdict, trouble, wakeInMs)
    return undefined
  })
  return { events: [...last, ['info', 'The lab is up']] }
}

/** The cluster's news of the start, in words for users. */
function newsOf(pod: PodFacts | undefined, events: readonly PodEventFacts[]): readonly NewEvent[] {
  const told = events.map(eventForUser).filter(event => event !== null)
  const news = told.map(({ event, data }): NewEvent => [event, data])
  const preparation = pod && preparationMessage(pod)
  return preparation ? [...news, ['info', preparation]] : news
}

/**
 * Finds the lab's pod by its UID. The API server is asked if the watches have not shown it for long. Only that answer or
 * the DELETED event proves that it is gone.
 */
async function findOwnPod(
  context: LabContext,
  madeMs: number,
  wakeInMs: (ms: number) => void,
): Promise<PodFacts | undefined> {
  const { namespace, lab } = context.names
  const seen = context.view.pods(namespace).find(pod => pod.uid === context.known.podUid)
  if (seen) return seen
  const unseenForMs = context.clock.monotonicMs() - madeMs
  if (!context.gone.has(context.known.podUid!) && unseenForMs < unseenMs) {
    wakeInMs(unseenMs - unseenForMs)
    return undefined
  }
  const object = await context.kube.get(podRef(namespace, lab), context.call())
  if (!object || object.metadata.uid !== context.known.podUid) {
    throw new NeedsSomeone('The pod of the lab was removed while it was starting')
  }
  wakeInMs(unseenMs)
  return projectPod(object)
}

/** @throws {NeedsSomeone} when the trouble has lasted longer than the grace of its cause */
async function endureTrouble(
  context: LabContext,
  verdict: StartVerdict,
  before: Trouble | undefined,
  wakeInMs: (ms: number) => void,
): Promise<Trouble | undefined> {
  if (verdict.kind !== 'troubled') return undefined
  const { cause, message } = verdict
  const now = context.clock.monotonicMs()
  const trouble = before?.cause === cause ? before : { cause, sinceMs: now }
  const { noRoomMs, registryMs, unknownMs } = context.graces
  const graceMs = cause === 'no-room' ? noRoomMs : cause === 'registry' ? registryMs : unknownMs
  const leftMs = trouble.sinceMs + graceMs - now
  if (leftMs <= 0) throw new NeedsSomeone(message)
  await context.report([['error', message]])
  wakeInMs(leftMs)
  return trouble
}
