/**
 * What a late write left, or an operation that failed: objects of ours that no record stands for and no operation will
 * remove. Who was told that a lab is gone, or failed, goes on being told so; what stands of it after that is taken away by
 * its UID, without a new operation.
 */
import type { Config } from '../../config/schema.ts'
import { type DeleteOutcome, isAlreadyExists } from '../../kube/client.ts'
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
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
  /** The cluster bears what no record explains. */
  readonly compare: () => void
}

export class Debris {
  readonly #options: DebrisOptions

  constructor(options: DebrisOptions) {
    this.#options = options
  }

  /** Removes what stands under this namespace's name, or in it, and is nobody's. */
  async remove(name: string): Promise<void> {
    const { view, trust, store } = this.#options
    const namespace = view.namespace(name)
    if (!namespace?.user || namespace.op === undefined) return
    const standing = await store.standing(namespace.user)
    if (trust.judge(namespace, boundAt(standing.nowMs)) !== 'ours') return
    // While an operation runs, all this is its business.
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
   * Makes a namespace that is gone once more, where a pod landed in it a moment too late. The API server finds no namespace
   * for such a pod, so it deletes nothing there as long as any policy looks at deletions of pods. With the namespace the
   * garbage collector removes the pod, and `remove` the namespace.
   */
  async restore(name: string): Promise<void> {
    const { view, store, trust, kube, config, log, signal } = this.#options
    const isOurs = (each: PodFacts) => !each.deleting && trust.isNamedAsOurs({ ...each, name })
    const pod = view.pods(name).find(isOurs)
    if (!pod?.user || pod.op === undefined) return
    const standing = await store.standing(pod.user)
    // Above it Redis has lost something: a compare would find no lab here, and there is none.
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

  /** Asked of the API server, since the watches cannot tell a pod that is gone from one they have not seen yet. */
  async isPodGone(user: string, podUid: string): Promise<boolean> {
    const { namespace, lab } = labNames(this.#options.namespacePrefix, user)
    const pod = await this.#options.kube.get(podRef(namespace, lab), { agent: 'monitor', signal: this.#options.signal })
    return pod?.metadata.uid !== podUid
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

  /** An object that was gone, or is another one by now, was not removed here. */
  #count(kind: 'namespace' | 'pod', outcome: DeleteOutcome): void {
    if (outcome === 'accepted') this.#options.metrics.debrisRemoved.inc({ kind })
  }
}

/** At or below the last operation, and not the namespace that its record names, or one that it could not remove. */
function isDebris(namespace: NamespaceFacts, { record }: Standing): boolean {
  return record?.namespaceUid !== namespace.uid || record.remains === true
}

/** The same of a pod. It may bear the record's own op: a request that was sent twice, and landed when its first pod was gone. */
function isStray(pod: PodFacts, boundOp: number, { record }: Standing): boolean {
  return pod.uid !== record?.podUid && !pod.deleting && (pod.op ?? 0) <= boundOp
}
