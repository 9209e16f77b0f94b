/**
 * Removes debris: objects of ours that a late write or a failed operation left, so that no record has them and no operation
 * will remove them. The lab's status stays gone or failed, as clients have seen it. Debris is deleted by its UID, without
 * a new operation.
 */
import type { KubeObject } from '../../base/domain.ts'
import type { Config } from '../../config/schema.ts'
import { type DeleteOutcome, isAlreadyExists } from '../../kube/client.ts'
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import { projectPod } from '../../kube/pods/project.ts'
import { labNames } from '../../labs/names.ts'
import { marks } from '../../labs/objects.ts'
import { withOwnership } from '../../labs/render.ts'
import type { CompareStore, Standing } from '../../store/compares.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type ClusterClient, type ClusterView, namespaceRef, podRef } from '../cluster.ts'
import { boundAt, type Trust } from '../trust.ts'

export interface DebrisOptions {
  readonly config: Pick<Config, 'installation' | 'lab'>
  readonly store: CompareStore
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly namespacePrefix: string
  readonly trust: Trust
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'debrisRemoved'>
  /** Ends requests when the replica drains. */
  readonly signal: AbortSignal
  /** Requests a compare when no record explains an object. */
  readonly compare: () => void
}

export class Debris {
  readonly #options: DebrisOptions

  constructor(options: DebrisOptions) {
    this.#options = options
  }

  /** Removes the namespace of this name, or pods in it, if they are debris. */
  async remove(name: string): Promise<void> {
    const { view, trust, store } = this.#options
    const namespace = view.namespace(name)
    if (!namespace?.user || namespace.op === undefined) return
    const standing = await store.standing(namespace.user)
    if (trust.judge(namespace, boundAt(standing.nowMs)) !== 'ours') return
    // A running operation is responsible for all these objects.
    if (standing.record?.active) return
    const boundOp = standing.record?.op ?? standing.tombstone
    // Neither record nor tombstone, or a newer namespace than either: Redis has lost something.
    if (boundOp === 0 || namespace.op > boundOp) return this.#options.compare()
    if (isDebris(namespace, standing)) return this.#removeNamespace(namespace)
    for (const pod of view.pods(name)) {
      if (isStray(pod, boundOp, standing)) await this.#removePod(pod)
    }
  }

  /**
   * Creates a deleted namespace again when a pod arrived in it a moment too late. The API server finds no namespace for such
   * a pod, so it cannot delete the pod while any policy covers deletions of pods. Once the namespace exists, the garbage
   * collector removes the pod, and `remove` the namespace.
   */
  async restore(name: string): Promise<void> {
    const { view, store, trust, kube, config, log, signal } = this.#options
    const isOurs = (each: PodFacts) => !each.deleting && trust.isNamedAsOurs({ ...each, name })
    const pod = view.pods(name).find(isOurs)
    if (!pod?.user || pod.op === undefined) return
    const standing = await store.standing(pod.user)
    // A higher op means that Redis has lost writes. A compare would find no lab here, and there is none.
    if (standing.record?.active || pod.op > (standing.record?.op ?? standing.tombstone)) return
    const call = { agent: 'debris', signal }
    if (await kube.get(namespaceRef(name), call)) return
    log.warn({ namespace: name, pod: pod.name, op: pod.op }, 'a pod landed in a namespace that is gone')
    const metadata = { name, ...marks({ config, identity: { username: pod.user } }) }
    const namespace = withOwnership({ apiVersion: 'v1', kind: 'Namespace', metadata }, pod.op, null)
    await kube.create(namespace, call).catch(error => {
      if (!isAlreadyExists(error)) throw error
    })
  }

  /** Asks the API server, since the watches cannot distinguish a deleted pod from one that they have not seen yet. */
  async isPodGone(user: string, podUid: string): Promise<boolean> {
    const { namespace, lab } = labNames(this.#options.namespacePrefix, user)
    return (await this.#getPod(namespace, lab))?.metadata.uid !== podUid
  }

  /** Asks the API server, since the watches may show an old state. @returns undefined if this very pod is gone */
  async podNow({ namespace, name, uid }: PodFacts): Promise<PodFacts | undefined> {
    const pod = await this.#getPod(namespace, name)
    return pod?.metadata.uid === uid ? projectPod(pod) : undefined
  }

  #getPod(namespace: string, name: string): Promise<KubeObject | null> {
    return this.#options.kube.get(podRef(namespace, name), { agent: 'monitor', signal: this.#options.signal })
  }

  async #removeNamespace({ name, uid, op, terminating }: NamespaceFacts): Promise<void> {
    if (terminating) return
    const { kube, log, signal } = this.#options
    const outcome = await kube.delete({ ...namespaceRef(name), uid }, { agent: 'debris', signal })
    this.#count('namespace', outcome)
    log.warn({ namespace: name, op }, 'a namespace that no record knows was removed')
  }

  async #removePod({ namespace, name, uid, op }: PodFacts): Promise<void> {
    const { kube, log, signal } = this.#options
    const outcome = await kube.delete({ ...podRef(namespace, name), uid }, { agent: 'debris', graceSeconds: 0, signal })
    this.#count('pod', outcome)
    log.warn({ namespace, pod: name, op }, 'a pod that no record knows was removed')
  }

  /** Counts only objects that this request removed, not one that was gone or replaced. */
  #count(kind: 'namespace' | 'pod', outcome: DeleteOutcome): void {
    if (outcome === 'accepted') this.#options.metrics.debrisRemoved.inc({ kind })
  }
}

/** True if the record does not name this namespace, or its operation could not remove it. The op is not newer. */
function isDebris(namespace: NamespaceFacts, { record }: Standing): boolean {
  return record?.namespaceUid !== namespace.uid || record.remains === true
}

/** The same for a pod. It may have the record's own op: from a repeated request that arrived after its first pod was gone. */
function isStray(pod: PodFacts, boundOp: number, { record }: Standing): boolean {
  return pod.uid !== record?.podUid && !pod.deleting && (pod.op ?? 0) <= boundOp
}
