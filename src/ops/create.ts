/**
 * The creation of a lab (SQR-066, "POST …/create"): remove older objects, make the namespace and everything in it, the pod
 * last, and wait until the lab answers. An undisturbed creation sends one write per object and reads nothing. To read an
 * object that exists already, the controller first binds itself to a role (`reading.ts`).
 */
import type { KubeObject, LabPlan } from '../base/domain.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { isAlreadyExists, isOverQuota, type KubeError } from '../kube/client.ts'
import { labels } from '../kube/labels.ts'
import type { PodEventFacts, PodFacts, StartVerdict } from '../kube/pods/facts.ts'
import { eventForUser, isStartReported, judgeStart, preparationMessage } from '../kube/pods/judge.ts'
import { projectNamespace, projectPod } from '../kube/pods/project.ts'
import { withOwnership } from '../labs/render.ts'
import type { NewEvent } from '../store/records.ts'
import { namespaceRef, podRef, refOf } from './cluster.ts'
import { readStanding } from './reading.ts'
import { judgeNamespace, removalSteps, requireNotNewer } from './removal.ts'
import { isRefusal, StartOver, type Step, type StepContext, type StepResult, watchUntil } from './steps.ts'
import { distrust } from './trust.ts'

/** How long the watches may take to show a new pod, before the API server is asked. */
const unseenMs = 5_000
/** How long a ready lab waits for earlier events, which a kubelet sends separately from the status. */
const lateEventsMs = 1_000

const clear = removalSteps('clear.', 'olderOps', 0, 4)

/** The steps of a creation, named after what its plan holds. */
export function createSteps(plan: LabPlan): readonly Step[] {
  const objects = plan.objects
  const lab = objects.at(-1)!.metadata.name
  return [
    ...clear,
    { name: 'make.namespace', kind: 'act', progress: 8, run: makeNamespace },
    ...objects.map(
      (object, i): Step => ({
        name: `make.${stepName(object, lab)}`,
        kind: 'act',
        progress: 8 + Math.round((32 * (i + 1)) / objects.length),
        run: context => makeObject(context, object),
      }),
    ),
    { name: 'start', kind: 'wait', progress: 100, run: awaitStart },
  ]
}

/** Names a step by its object's kind and the part of its name after the pod's, which is unique within a kind. */
function stepName({ kind, metadata: { name } }: KubeObject, lab: string): string {
  return kind.toLowerCase() + (name.startsWith(`${lab}-`) ? name.slice(lab.length) : '')
}

async function makeNamespace(context: StepContext): Promise<StepResult> {
  const object = context.trust.signed(withOwnership(context.plan!.namespace, context.op, null))
  await context.failpoint('before-act')
  const made = await context.kube.create(object, context.call()).catch(error => {
    if (isAlreadyExists(error)) return null
    throw error
  })
  await context.failpoint('after-act')
  context.known.namespaceUid = made ? made.metadata.uid : await adoptNamespace(context)
  return {
    events: [['info', `Created the namespace ${object.metadata.name}`]],
    fields: { namespaceUid: context.known.namespaceUid! },
  }
}

/** Handles a namespace that exists already: adopts it if it has this op; otherwise has it removed, or refuses. */
async function adoptNamespace(context: StepContext): Promise<string> {
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

async function makeObject(context: StepContext, planned: KubeObject): Promise<StepResult> {
  const object = withOwnership(planned, context.op, context.known.namespaceUid!)
  await context.failpoint('before-act')
  const made = await createOrAdopt(context, object)
  await context.failpoint('after-act')
  const { uid } = made.metadata
  if (object.kind === 'Pod') {
    context.known.podUid = uid
    return { events: [['info', 'Created the pod of the lab']], fields: { podUid: uid!, podPresent: true } }
  }
  return { events: [], fields: {} }
}

/** Creates an object. One that exists already is adopted only if its op and its owner, the namespace, match. */
async function createOrAdopt(context: StepContext, object: KubeObject): Promise<KubeObject> {
  try {
    return await context.kube.create(object, context.call())
  } catch (error) {
    if (isAlreadyExists(error)) return adopt(context, object)
    // If a reply was lost, this very object may fill the quota, and the error does not mention that it exists.
    if (isOverQuota(error)) return adopt(context, object, error)
    if (isRefusal(error)) await requireNamespace(context)
    throw error
  }
}

async function adopt(context: StepContext, object: KubeObject, overQuota?: KubeError): Promise<KubeObject> {
  const standing = await readStanding(context, object).catch(async error => {
    if (isRefusal(error)) await requireNamespace(context)
    throw error
  })
  if (!standing && overQuota) {
    await requireNamespace(context)
    throw new NeedsSomeone(`The lab is more than its quota allows: ${overQuota.message}`, { cause: overQuota })
  }
  if (!standing) throw new RetryLater('an object came and went', 100)
  const { uid, labels: standingLabels, ownerReferences, deletionTimestamp } = standing.metadata
  const sameOp = standingLabels?.[labels.op] === String(context.op)
  if (sameOp && ownerReferences?.some(owner => owner.uid === context.known.namespaceUid)) {
    if (!deletionTimestamp) return standing
    throw new RetryLater('what was made before is being removed')
  }
  // A late writer must not destroy objects that a newer operation or a later owner made in the next namespace.
  await requireNamespace(context)
  // It was left by a late write of an older operation, since only operations write into this namespace.
  await context.kube.delete({ ...refOf(object), uid: uid! }, { ...context.call(), graceSeconds: 0 })
  throw new RetryLater('what an older operation left stood in the way')
}

/** Checks the namespace after a refusal or a foreign object in it: it may have been replaced. */
async function requireNamespace(context: StepContext): Promise<void> {
  const object = await context.kube.get(namespaceRef(context.names.namespace), context.call())
  const namespace = object && projectNamespace(object)
  if (!namespace || namespace.uid !== context.known.namespaceUid || namespace.terminating) {
    throw new NeedsSomeone(`The namespace ${context.names.namespace} was removed while the lab was being made`)
  }
}

/** An obstacle that may pass, and since when it exists. */
interface Trouble {
  readonly cause: string
  readonly sinceMs: number
}

async function awaitStart(context: StepContext): Promise<StepResult> {
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

/** What the cluster shows of the start, in words for users. */
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
  context: StepContext,
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
  context: StepContext,
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
