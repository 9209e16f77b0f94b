/**
 * Removing what stands of a lab: first its pod, then its namespace, which takes all the rest along (SQR-066, "Pod
 * configuration"). The same steps make way for a creation, clean up after a failed one, and are a deletion.
 *
 * Only what bears an op at or below the operation's own is removed, by the UID read with it: the operation's record is
 * the intent. A higher op means that Redis has gone back; it is neither touched nor taken for absence.
 */
import { NeedsSomeone, RetryLater } from '../errors.ts'
import type { NamespaceFacts, PodFacts } from '../labs/facts.ts'
import { projectNamespace, projectPod } from '../labs/project.ts'
import { namespaceRef, podRef } from './cluster.ts'
import { type Step, type StepContext, type StepResult, watchUntil } from './steps.ts'

/** How often the API server is asked where the watches could not tell. */
const askAgainMs = 5_000

/**
 * The namespace of the user's name. What the watches lack may be younger than they are: only who is about to create it,
 * and would meet it then, takes their word for it.
 */
export async function findNamespace(
  context: StepContext,
  believeAbsence: boolean,
): Promise<NamespaceFacts | undefined> {
  const { known, gone, names } = context
  const seen = context.view.namespace(names.namespace)
  // The watches may lag behind the record: then what they show is another one, on its way out perhaps.
  const recorded = !known.namespaceUid || seen?.uid === known.namespaceUid
  if (seen && recorded && !known.doubt && !gone.has(seen.uid)) return seen
  if (!known.doubt && ((believeAbsence && !seen) || (known.namespaceUid && gone.has(known.namespaceUid))))
    return undefined
  const object = await context.kube.get(namespaceRef(names.namespace), context.call())
  return object ? projectNamespace(object) : undefined
}

/** Whether a namespace is this user's, made by this installation. */
export function isOurs(context: StepContext, namespace: NamespaceFacts): boolean {
  return (
    namespace.installation === context.installation && namespace.user === context.user && namespace.op !== undefined
  )
}

/** @throws {RetryLater} the namespace bears a higher op, which a compare has to settle first */
export function requireNotNewer(context: StepContext, namespace: NamespaceFacts): void {
  if ((namespace.op ?? 0) <= context.op) return
  context.compare()
  context.known.doubt = true
  throw new RetryLater('the cluster bears a newer operation than the record', 1000)
}

/** The namespace that may be removed, if there is one; a foreign one is left alone. */
async function target(context: StepContext, below: Bound): Promise<NamespaceFacts | undefined> {
  const namespace = await findNamespace(context, below === 'before')
  if (!namespace) return undefined
  if (!isOurs(context, namespace)) return foreign(context, below)
  requireNotNewer(context, namespace)
  return below === 'before' && namespace.op === context.op && !namespace.terminating ? undefined : namespace
}

function foreign(context: StepContext, below: Bound): undefined {
  // A deletion has nothing to do with it; a creation can never succeed beside it.
  if (below === 'upto') return undefined
  throw new NeedsSomeone(
    `The namespace ${context.names.namespace} exists and was not made for ${context.user} by this installation: it is left untouched`,
  )
}

async function findPod(context: StepContext, namespace: NamespaceFacts): Promise<PodFacts | undefined> {
  const { known, gone, names } = context
  const seen = context.view.pods(namespace.name).find(pod => pod.name === names.lab && !gone.has(pod.uid))
  if (seen && !known.doubt) return seen
  if (known.podUid && gone.has(known.podUid)) return undefined
  const object = await context.kube.get(podRef(namespace.name, names.lab), context.call())
  return object ? projectPod(object) : undefined
}

/** `before`: lower ops than one's own; `upto`: one's own too. */
type Bound = 'before' | 'upto'

async function deletePod(context: StepContext, below: Bound): Promise<StepResult> {
  const namespace = await target(context, below)
  const pod = namespace && (await findPod(context, namespace))
  if (!pod) return 'nothing'
  await context.failpoint('before-act')
  const answer = await context.kube.delete({ ...podRef(pod.namespace, pod.name), uid: pod.uid }, context.call())
  await context.failpoint('after-act')
  if (answer === 'other') {
    context.known.doubt = true
    throw new RetryLater('another pod of this name stands there', 100)
  }
  context.known.podUid = pod.uid
  return { events: [['info', 'Stopping the lab']], fields: { podUid: pod.uid } }
}

async function awaitPod(context: StepContext, below: Bound): Promise<StepResult> {
  const { podUid } = context.known
  const namespace = await target(context, below)
  if (!podUid || !namespace) return 'nothing'
  let told = false
  await awaitGone(context, podUid, podRef(namespace.name, context.names.lab), async () => {
    const pod = context.view.pods(namespace.name).find(candidate => candidate.uid === podUid)
    if (told || !pod?.unheard) return
    told = true
    await context.tell([['error', `The node ${pod.node ?? ''} does not answer: the lab there is gone once it does`]])
  })
  return { events: [['info', 'The lab has stopped']], fields: { podPresent: false } }
}

async function deleteNamespace(context: StepContext, below: Bound): Promise<StepResult> {
  const namespace = await target(context, below)
  if (!namespace) return 'nothing'
  if (!namespace.terminating) {
    await context.failpoint('before-act')
    const answer = await context.kube.delete({ ...namespaceRef(namespace.name), uid: namespace.uid }, context.call())
    await context.failpoint('after-act')
    if (answer === 'other') {
      context.known.doubt = true
      throw new RetryLater('another namespace of this name stands there', 100)
    }
  }
  context.known.namespaceUid = namespace.uid
  return { events: [['info', `Removing the namespace ${namespace.name}`]], fields: { namespaceUid: namespace.uid } }
}

async function awaitNamespace(context: StepContext, below: Bound): Promise<StepResult> {
  const { namespaceUid, doubt } = context.known
  if (!namespaceUid || (!doubt && !(await target(context, below)))) return 'nothing'
  let told = ''
  await awaitGone(context, namespaceUid, namespaceRef(context.names.namespace), async () => {
    const obstacles = context.view.namespace(context.names.namespace)?.obstacles.join('; ') ?? ''
    if (obstacles === '' || obstacles === told) return
    told = obstacles
    await context.tell([['info', `The cluster is still busy removing it: ${obstacles}`]])
  })
  context.known.podUid = undefined
  context.known.namespaceUid = undefined
  return {
    events: [['info', `The namespace ${context.names.namespace} is gone`]],
    fields: { podPresent: false, podUid: '', namespaceUid: '' },
  }
}

/** Waits for the DELETED event of this UID, or for the API server to say that it has no such object. */
async function awaitGone(
  context: StepContext,
  uid: string,
  ref: ReturnType<typeof namespaceRef>,
  meanwhile: () => Promise<void>,
): Promise<void> {
  let askAtMs = 0
  await watchUntil(context, async wakeInMs => {
    if (context.gone.has(uid)) return true
    const seen =
      ref.kind === 'Pod'
        ? context.view.pods(context.names.namespace).some(pod => pod.uid === uid)
        : context.view.namespace(ref.name)?.uid === uid
    if (seen) {
      await meanwhile()
      return undefined
    }
    const now = context.clock.monotonicMs()
    if (now >= askAtMs) {
      askAtMs = now + askAgainMs
      const object = await context.kube.get(ref, context.call())
      if (!object || object.metadata.uid !== uid) return true
    }
    wakeInMs(askAtMs - now)
    return undefined
  })
}

/**
 * The four steps. `prefix` sets their names apart where an operation removes more than once; progress goes from `from`
 * to `to` in equal parts.
 */
export function removalSteps(prefix: string, below: Bound, from: number, to: number): readonly Step[] {
  const step = (name: string, kind: Step['kind'], run: typeof deletePod, part: number): Step => ({
    name: prefix + name,
    kind,
    progress: Math.round(from + ((to - from) * part) / 4),
    run: context => run(context, below),
  })
  return [
    step('pod', 'act', deletePod, 1),
    step('pod-gone', 'wait', awaitPod, 2),
    step('namespace', 'act', deleteNamespace, 3),
    step('namespace-gone', 'wait', awaitNamespace, 4),
  ]
}
