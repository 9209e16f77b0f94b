/** Notebooks of Kubeflow and labelled StatefulSets as workloads: a stop is an annotation, which their own controller carries out. */
import type { Failpoint } from '../../base/failpoint.ts'
import type { StampPolicy } from '../../config/idle.ts'
import type { PatchOptions } from '../../kube/calls.ts'
import type { KubeClient } from '../../kube/client.ts'
import { stampOf, stamps } from '../../kube/labels.ts'
import type { ActivityStore } from '../../store/activity.ts'
import type { StopRequest } from '../../store/idle.ts'
import { withoutActivity } from '../decisions/stamps.ts'
import type { ProbeTarget } from '../looks/questions.ts'
import { stopByPatch } from '../stop-by-patch.ts'
import type {
  Address,
  Known,
  StampPatch,
  StopLimit,
  StopResult,
  Traits,
  WorkloadFacts,
  WorkloadOwner,
} from '../workloads/workload.ts'
import { notebookKind, type OwnerFacts, type SetPodFacts, setKind } from './objects.ts'
import type { NotebookSight, NotebookWorkloadKind, Seen } from './sight.ts'

export interface NotebookOwnerOptions {
  readonly kind: NotebookWorkloadKind
  readonly stampPolicy: StampPolicy
  readonly sight: NotebookSight
  readonly store: Pick<ActivityStore, 'read' | 'requestStop' | 'tellStop' | 'withdrawStop'>
  readonly kube: Pick<KubeClient, 'patch'>
  /** Whether an address may be that of a Service. */
  readonly isInCluster: (ip: string) => boolean
  readonly failpoint: Failpoint
  /** It was stopped by this process. */
  readonly onStopped: (facts: Pick<OwnerFacts, 'namespace' | 'name'>, atMs: number) => void
}

/** An owner that runs, with the pod that is asked. */
type Running = Seen & { readonly pod: SetPodFacts }

/** The port of Jupyter. */
const defaultPort = 8888
const agent = 'idle'

export class NotebookOwner implements WorkloadOwner {
  readonly kind: NotebookWorkloadKind
  /** No gateway serves them, and only labs are measured. */
  readonly unreported = ['traffic', 'cpu'] as const
  readonly stampPolicy: StampPolicy
  readonly #options: NotebookOwnerOptions

  constructor(options: NotebookOwnerOptions) {
    this.kind = options.kind
    this.stampPolicy = options.stampPolicy
    this.#options = options
  }

  facts(id: string): WorkloadFacts | undefined {
    const running = this.#running(id)
    if (!running) return undefined
    const { owner, pod } = running
    return {
      ...{ kind: this.kind, id, podUid: pod.uid, stamps: owner.stamps },
      mayBeAsked: pod.ready && !pod.hostNetwork && pod.ip !== '',
      startedMs: pod.startedAtMs || undefined,
    }
  }

  /** Whether the watches show that its pod ends, or is to end. */
  isEnding(id: string): boolean {
    const { owner, pod } = this.#options.sight.get(this.kind, id) ?? {}
    return pod !== undefined && (pod.deleting || owner!.deleting || owner!.stamps.stopped !== undefined)
  }

  /** All ids that the watches show. */
  ids(): Iterable<string> {
    return this.#options.sight.ids(this.kind)
  }

  silenceMs(): number {
    return this.#options.sight.silenceMs()
  }

  async read(facts: WorkloadFacts): Promise<Known | undefined> {
    const { id, podUid } = facts
    const running = this.#running(id)
    if (running?.pod.uid !== podUid) return undefined
    const read = await this.#options.store.read(this.kind, id, podUid)
    return {
      read,
      traits: { ...traitsOf(running), tenant: this.#options.sight.tenant(running.owner.namespace) },
      target: async (_signal, address) => this.#target(id, address),
      // By the version from before the look, so that an edit since then wins.
      stop: (request, limit) => this.#stop(running.owner, request, limit),
    }
  }

  /** What somebody wrote since the look stays, for the next one to believe. */
  async stamp(facts: WorkloadFacts, annotations: StampPatch, signal: AbortSignal): Promise<void> {
    const running = this.#running(facts.id)
    if (running?.pod.uid !== facts.podUid) return
    const isEdited = running.owner.stamps.lastActivity !== facts.stamps.lastActivity
    if (isEdited && stamps.lastActivity in annotations) return
    await this.#patch(running.owner, annotations, { signal })
  }

  /** The annotations to remove from one that is stopped, or has no pod: its next idle clock begins anew. */
  leftovers(id: string): StampPatch | undefined {
    const { owner } = this.#options.sight.get(this.kind, id) ?? {}
    if (!owner || owner.deleting || this.stampPolicy === 'off' || this.#running(id)) return undefined
    return withoutActivity(owner.stamps)
  }

  /** Removes what `leftovers` says, best effort. @throws {RetryLater} {KubeError} */
  async tidy(id: string, signal: AbortSignal): Promise<void> {
    const { owner } = this.#options.sight.get(this.kind, id) ?? {}
    const patch = this.leftovers(id)
    if (owner && patch) await this.#patch(owner, patch, { signal })
  }

  async #stop(owner: OwnerFacts, request: StopRequest, limit: StopLimit): Promise<StopResult> {
    const { store, failpoint, onStopped } = this.#options
    const annotations = {
      [stamps.stopped]: stampOf(request.expectedMs),
      ...(this.stampPolicy !== 'off' && withoutActivity(owner.stamps)),
    }
    const { resourceVersion } = owner
    const options = { signal: limit.signal, check: () => limit.check(), resourceVersion }
    const result = await stopByPatch({
      ...{ request, store, failpoint },
      patch: () => this.#patch(owner, annotations, options),
      isStopped: () => this.#isStopped(owner, request.id),
    })
    if (result !== 'written') return result
    onStopped(owner, request.expectedMs)
    return 'requested'
  }

  #isStopped({ uid }: OwnerFacts, id: string): boolean {
    const { owner } = this.#options.sight.get(this.kind, id) ?? {}
    return owner?.uid === uid && owner.stamps.stopped !== undefined
  }

  async #patch(
    { namespace, name, uid }: OwnerFacts,
    annotations: StampPatch,
    options: Pick<PatchOptions, 'signal' | 'check' | 'resourceVersion'>,
  ): Promise<boolean> {
    const ref = { ...(this.kind === 'notebook' ? notebookKind : setKind), namespace, name, uid }
    return (await this.#options.kube.patch(ref, { metadata: { annotations } }, { ...options, agent })) !== null
  }

  #target(id: string, address: Address | undefined): ProbeTarget {
    const running = this.#running(id)
    const common = { prefix: `/notebook/${id}/`, credential: undefined }
    if (!running) return { ...common, address: '', port: defaultPort }
    if (address !== 'service') {
      return { ...common, address: running.pod.ip, port: containerOf(running)?.port || defaultPort }
    }
    const { ip = '', port = 0 } = this.#options.sight.service(id) ?? {}
    // An address that is none is refused by the probe, in words.
    return { ...common, address: ip !== '' && this.#options.isInCluster(ip) ? ip : '', port: port || defaultPort }
  }

  #running(id: string): Running | undefined {
    const seen = this.#options.sight.get(this.kind, id)
    const { owner, set, pod } = seen ?? {}
    if (!owner || !pod || owner.deleting || set?.deleting || owner.stamps.stopped !== undefined) return undefined
    return pod.running && !pod.deleting ? { owner, set, pod } : undefined
  }
}

/** What rules match by: what runs, not what is declared. */
function traitsOf(running: Running): Traits {
  return { image: containerOf(running)?.image, namespace: running.owner.namespace }
}

/** The container that the set declares first. A mesh may have put its own before it. */
const containerOf = ({ set, pod }: Running) =>
  pod.containers.find(({ name }) => name === set?.container) ?? pod.containers[0]
