/**
 * Removes the objects of a lab: first its pod, then its namespace with all the rest (SQR-066, "Pod configuration"). The
 * same steps make way for a creation, clean up after a failed one, and make up a deletion.
 *
 * Only objects with an op at or below the operation's own are removed, by the UID that was read with the op. A higher op
 * means that Redis has lost writes: such an object is neither touched nor treated as absent.
 */
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import type { NamespaceFacts, PodFacts } from '../kube/pods/facts.ts'
import { projectNamespace, projectPod } from '../kube/pods/project.ts'
import type { NewEvent } from '../store/records.ts'
import { namespaceRef, podRef } from './cluster.ts'
import { type LabContext, type LabResult, type LabStep, watchUntil } from './lab-context.ts'
import { distrust, type Verdict } from './trust.ts'

/** How often the API server is asked about an object that the watches do not show. */
const askAgainMs = 5_000
/** How long a pod may take to go before its obstacles are reported. */
const obstacleMs = 10_000
/**
 * How long the API server may treat a deleted namespace as terminating. Meanwhile it refuses objects in the next namespace
 * of that name. The cluster's controllers then give up: a `default` ServiceAccount was never made, so no pod could be.
 * Lags of up to 103 ms were seen on an idle machine.
 */
const namespaceCacheLagMs = 500

/**
 * Finds the namespace of the user. An object that the watches lack may be newer than their state.
 * @param trustAbsence believe the watches that there is none: only for a creation, which meets an unseen one later
 */
export async function findNamespace(context: LabContext, trustAbsence: boolean): Promise<NamespaceFacts | undefined> {
  const { known, gone, names } = context
  const seen = context.view.namespace(names.namespace)
  // The watches may lag behind the record: then they show an earlier namespace, which may be terminating.
  const recorded = !known.namespaceUid || seen?.uid === known.namespaceUid
  if (seen && recorded && !known.doubt && !gone.has(seen.uid)) return seen
  if (!known.doubt && ((trustAbsence && !seen) || (known.namespaceUid && gone.has(known.namespaceUid))))
    return undefined
  const object = await context.kube.get(namespaceRef(names.namespace), context.call())
  return object ? projectNamespace(object) : undefined
}

/** Judges whether this installation made a namespace for this user. */
export function judgeNamespace(context: LabContext, namespace: NamespaceFacts): Verdict {
  return namespace.user === context.user ? context.trust.judge(namespace, context.boundOp()) : 'foreign'
}

/**
 * @throws {RetryLater} when the object has a higher op, which a compare has to settle first
 * @throws {NeedsSomeone} when its op is beyond the bound, so that no compare trusts it
 */
export function requireNotNewer(
  context: LabContext,
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

/** Finds the namespace to remove, if there is one; a foreign one is left alone. */
async function target(context: LabContext, scope: Scope): Promise<NamespaceFacts | undefined> {
  const namespace = await findNamespace(context, scope === 'olderOps')
  if (!namespace) return undefined
  const verdict = judgeNamespace(context, namespace)
  if (verdict !== 'ours') return notOurs(context, scope, namespace, verdict)
  requireNotNewer(context, 'namespace', namespace)
  return scope === 'olderOps' && namespace.op === context.op && !namespace.terminating ? undefined : namespace
}

function notOurs(context: LabContext, scope: Scope, namespace: NamespaceFacts, verdict: Verdict): undefined {
  // By its UID it is this record's lab with overwritten labels: it must not be reported as gone.
  const written = namespace.uid === context.known.namespaceUid
  // A deletion may ignore a foreign namespace; a creation can never succeed beside it.
  if (scope === 'ownAndOlder' && !written) return undefined
  throw new NeedsSomeone(distrust('namespace', namespace.name, verdict, context.user))
}

async function findPod(context: LabContext, namespace: NamespaceFacts): Promise<PodFacts | undefined> {
  const { known, gone, names } = context
  const seen = context.view.pods(namespace.name).find(pod => pod.name === names.lab && !gone.has(pod.uid))
  if (seen && !known.doubt) return seen
  if (known.podUid && gone.has(known.podUid)) return undefined
  const object = await context.kube.get(podRef(namespace.name, names.lab), context.call())
  return object ? projectPod(object) : undefined
}

/** The ops to remove: lower than the operation's own, or that one too. */
type Scope = 'olderOps' | 'ownAndOlder'

async function deletePod(context: LabContext, scope: Scope): Promise<LabResult> {
  const namespace = await target(context, scope)
  const pod = namespace && (await findPod(context, namespace))
  if (!pod) return 'nothing'
  // The watches may still show a former namespace, while the pod was read from its successor.
  requireNotNewer(context, 'pod', pod)
  await context.failpoint('before-act')
  const answer = await context.kube.delete({ ...podRef(pod.namespace, pod.name), uid: pod.uid }, context.call())
  await context.failpoint('after-act')
  if (answer === 'other') {
    context.known.doubt = true
    throw new RetryLater('another pod has this name', 100)
  }
  context.known.podUid = pod.uid
  return { events: [['info', 'Stopping the lab']], fields: { podUid: pod.uid } }
}

async function awaitPod(context: LabContext, scope: Scope): Promise<LabResult> {
  const { podUid } = context.known
  if (!podUid) return 'nothing'
  const namespace = await target(context, scope)
  if (!namespace) return 'nothing'
  const begunMs = context.clock.monotonicMs()
  await awaitGone(context, podUid, podRef(namespace.name, context.names.lab), async wakeInMs => {
    const obstacles = podObstacles(context.view.pods(namespace.name).find(pod => pod.uid === podUid))
    if (obstacles.length === 0) return
    // While a kubelet stops a pod, it may seem unresponsive for a moment.
    const leftMs = begunMs + obstacleMs - context.clock.monotonicMs()
    if (leftMs > 0) return wakeInMs(leftMs)
    await context.report(obstacles.map((words): NewEvent => ['error', words]))
  })
  return { events: [['info', 'The lab has stopped']], fields: { podPresent: false } }
}

async function deleteNamespace(context: LabContext, scope: Scope): Promise<LabResult> {
  const namespace = await target(context, scope)
  if (!namespace) return 'nothing'
  if (!namespace.terminating) {
    await context.failpoint('before-act')
    const answer = await context.kube.delete({ ...namespaceRef(namespace.name), uid: namespace.uid }, context.call())
    await context.failpoint('after-act')
    if (answer === 'other') {
      context.known.doubt = true
      throw new RetryLater('another namespace has this name', 100)
    }
  }
  context.known.namespaceUid = namespace.uid
  return { events: [['info', `Removing the namespace ${namespace.name}`]], fields: { namespaceUid: namespace.uid } }
}

async function awaitNamespace(context: LabContext, scope: Scope): Promise<LabResult> {
  const { namespaceUid, doubt } = context.known
  if (!namespaceUid) return 'nothing'
  // A creation whose step list began anew may find its own namespace here, which is not being removed.
  if ((!doubt || scope === 'olderOps') && !(await target(context, scope))) {
    // It was gone before this step; its UIDs must not be taken for those of the next namespace.
    if (scope === 'olderOps') await forget(context)
    return 'nothing'
  }
  await awaitGone(context, namespaceUid, namespaceRef(context.names.namespace), async () => {
    const obstacles = context.view.namespace(context.names.namespace)?.obstacles.join('; ') ?? ''
    if (obstacles !== '') await context.report([['info', `The cluster is still busy removing it: ${obstacles}`]])
  })
  await forget(context)
  return {
    events: [['info', `The namespace ${context.names.namespace} is gone`]],
    fields: { podPresent: false, podUid: '', namespaceUid: '' },
  }
}

async function forget({ clock, signal, known }: LabContext): Promise<void> {
  await clock.sleep(namespaceCacheLagMs, signal)
  known.podUid = undefined
  known.namespaceUid = undefined
}

/** Explains what keeps a terminating pod from going. */
export function podObstacles(pod: PodFacts | undefined): string[] {
  if (!pod) return []
  const silent = pod.unheard || pod.phase === 'Unknown'
  return [
    ...(pod.finalizers ?? []).map(name => `The pod has the finalizer ${name}`),
    ...(silent ? [`The node ${pod.node ?? ''} does not answer: the lab there is gone once it does`] : []),
  ]
}

/** Waits for the DELETED event of this UID, or until the API server reports no object with it. */
async function awaitGone(
  context: LabContext,
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
 * The four steps. `prefix` keeps their names unique if an operation removes more than once. Progress goes from `from` to
 * `to` in equal parts.
 */
export function removalSteps(prefix: string, scope: Scope, from: number, to: number): readonly LabStep[] {
  const step = (name: string, kind: LabStep['kind'], run: typeof deletePod, part: number): LabStep => ({
    name: prefix + name,
    kind,
    progress: Math.round(from + ((to - from) * part) / 4),
    run: context => run(context, scope),
  })
  return [
    step('pod', 'act', deletePod, 1),
    { ...step('pod-gone', 'wait', awaitPod, 2), isIdle: ({ podUid }) => !podUid },
    step('namespace', 'act', deleteNamespace, 3),
    { ...step('namespace-gone', 'wait', awaitNamespace, 4), isIdle: ({ namespaceUid }) => !namespaceUid },
  ]
}
