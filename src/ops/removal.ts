/**
 * Removing what stands of a lab: first its pod, then its namespace, which takes all the rest along (SQR-066, "Pod
 * configuration"). The same steps make way for a creation, clean up after a failed one, and are a deletion.
 *
 * Only what bears an op at or below the operation's own is removed, by the UID read with it: the operation's record is
 * the intent. A higher op means that Redis has gone back; it is neither touched nor taken for absence.
 */
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import type { NamespaceFacts, PodFacts } from '../kube/pods/facts.ts'
import { projectNamespace, projectPod } from '../kube/pods/project.ts'
import type { NewEvent } from '../store/records.ts'
import { namespaceRef, podRef } from './cluster.ts'
import { type Step, type StepContext, type StepResult, watchUntil } from './steps.ts'
import { distrust, type Verdict } from './trust.ts'

/** How often the API server is asked where the watches could not tell. */
const askAgainMs = 5_000
/** How long a pod may take to go before what stands in its way is told. */
const obstacleMs = 10_000
/**
 * For how long the API server may still take a namespace that is gone for one on its way out. It refuses what comes into
 * the next one of that name meanwhile, and the cluster's controllers give up at that: a `default` ServiceAccount was never
 * made, nor could a pod be. Lags of up to 103 ms were seen on an idle machine.
 */
const forgottenMs = 500

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
export function judgeNamespace(context: StepContext, namespace: NamespaceFacts): Verdict {
  return namespace.user === context.user ? context.trust.judge(namespace, context.boundOp()) : 'foreign'
}

/**
 * @throws {RetryLater} what stands there bears a higher op, which a compare has to settle first
 * @throws {NeedsSomeone} its op is one that no compare believes
 */
export function requireNotNewer(
  context: StepContext,
  kind: 'namespace' | 'pod',
  standing: Pick<NamespaceFacts, 'op' | 'name'>,
): void {
  const op = standing.op ?? 0
  if (op <= context.op) return
  if (op > context.boundOp()) throw new NeedsSomeone(distrust(kind, standing.name, 'ahead', context.user))
  context.compare()
  context.known.doubt = true
  throw new RetryLater('the cluster bears a newer operation than the record', 1000)
}

/** The namespace that may be removed, if there is one; a foreign one is left alone. */
async function target(context: StepContext, below: Bound): Promise<NamespaceFacts | undefined> {
  const namespace = await findNamespace(context, below === 'before')
  if (!namespace) return undefined
  const verdict = judgeNamespace(context, namespace)
  if (verdict !== 'ours') return notOurs(context, below, namespace, verdict)
  requireNotNewer(context, 'namespace', namespace)
  return below === 'before' && namespace.op === context.op && !namespace.terminating ? undefined : namespace
}

function notOurs(context: StepContext, below: Bound, namespace: NamespaceFacts, verdict: Verdict): undefined {
  // By its UID it is the lab of this very record, whose labels were written over: it must not be called gone.
  const written = namespace.uid === context.known.namespaceUid
  // A deletion has nothing to do with it; a creation can never succeed beside it.
  if (below === 'upto' && !written) return undefined
  throw new NeedsSomeone(distrust('namespace', namespace.name, verdict, context.user))
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
  // The namespace may be remembered from before another took its place, and the pod be read from that.
  requireNotNewer(context, 'pod', pod)
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
  const begunMs = context.clock.monotonicMs()
  await awaitGone(context, podUid, podRef(namespace.name, context.names.lab), async wakeInMs => {
    const obstacles = podObstacles(context.view.pods(namespace.name).find(pod => pod.uid === podUid))
    if (obstacles.length === 0) return
    // A kubelet that is stopping a pod may look silent for a moment.
    const leftMs = begunMs + obstacleMs - context.clock.monotonicMs()
    if (leftMs > 0) return wakeInMs(leftMs)
    await context.tell(obstacles.map((words): NewEvent => ['error', words]))
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
  if (!namespaceUid) return 'nothing'
  // A creation may find its own namespace here: that of a step list begun anew, which nobody is removing.
  if ((!doubt || below === 'before') && !(await target(context, below))) {
    // It went before anyone waited; what is known of it must not be taken for what comes next.
    if (below === 'before') await forget(context)
    return 'nothing'
  }
  await awaitGone(context, namespaceUid, namespaceRef(context.names.namespace), async () => {
    const obstacles = context.view.namespace(context.names.namespace)?.obstacles.join('; ') ?? ''
    if (obstacles !== '') await context.tell([['info', `The cluster is still busy removing it: ${obstacles}`]])
  })
  await forget(context)
  return {
    events: [['info', `The namespace ${context.names.namespace} is gone`]],
    fields: { podPresent: false, podUid: '', namespaceUid: '' },
  }
}

async function forget({ clock, signal, known }: StepContext): Promise<void> {
  await clock.sleep(forgottenMs, signal)
  known.podUid = undefined
  known.namespaceUid = undefined
}

/** What keeps a pod that is being deleted from going, in words. */
export function podObstacles(pod: PodFacts | undefined): string[] {
  if (!pod) return []
  const silent = pod.unheard || pod.phase === 'Unknown'
  return [
    ...(pod.finalizers ?? []).map(name => `The pod has the finalizer ${name}`),
    ...(silent ? [`The node ${pod.node ?? ''} does not answer: the lab there is gone once it does`] : []),
  ]
}

/** Waits for the DELETED event of this UID, or for the API server to say that it has no such object. */
async function awaitGone(
  context: StepContext,
  uid: string,
  ref: ReturnType<typeof namespaceRef>,
  meanwhile: (wakeInMs: (ms: number) => void) => Promise<void>,
): Promise<void> {
  let askAtMs = 0
  await watchUntil(context, async wakeInMs => {
    if (context.gone.has(uid)) return true
    const seen =
      ref.kind === 'Pod'
        ? context.view.pods(context.names.namespace).some(pod => pod.uid === uid)
        : context.view.namespace(ref.name)?.uid === uid
    if (seen) {
      await meanwhile(wakeInMs)
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
