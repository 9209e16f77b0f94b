/** Apps as workloads: a stop is a patch of `spec.stop`, which their own reconciler carries out as that of anybody else. */
import type { KubeObject } from '../../base/domain.ts'
import type { Failpoint } from '../../base/failpoint.ts'
import type { IdleConfig } from '../../config/idle.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { ObjectRef } from '../../kube/kinds.ts'
import { stamps } from '../../kube/labels.ts'
import type { ActivityStore } from '../../store/activity.ts'
import type { StopRequest } from '../../store/idle.ts'
import { withoutActivity } from '../decisions/stamps.ts'
import type { ProbeTarget } from '../looks/questions.ts'
import { stopByPatch } from '../stop-by-patch.ts'
import type {
  Known,
  StampPatch,
  Stamps,
  StopLimit,
  StopResult,
  WorkloadFacts,
  WorkloadOwner,
} from '../workloads/workload.ts'

/** The pod of an app that serves it. Everything in it may be written by people of the namespace. */
export interface SeenPod {
  readonly uid: string
  readonly name: string
  /** It runs, and is not being deleted. */
  readonly running: boolean
  readonly ready: boolean
  readonly hostNetwork: boolean
  /** '' without one. */
  readonly ip: string
  readonly image: string
  /** By the cluster's clock; 0 when unknown. */
  readonly startedMs: number
}

/** The app that has an id, as the watches show it. */
export interface SeenApp {
  readonly ref: ObjectRef
  readonly uid: string
  readonly resourceVersion: string
  readonly deleting: boolean
  /** `spec.stop`. */
  readonly stop: boolean
  readonly group: string
  /** The LNamespace that it is in. */
  readonly tenant: string | undefined
  readonly instanceType: string
  /** Where its web interface answers in the pod; undefined without one, or where the port has a name. */
  readonly port: number | undefined
  readonly stamps: Stamps
  /** While a next one starts beside it, the one that serves. */
  readonly pod: SeenPod | undefined
}

/** Apps by id: of several with one id that which has it, and none that gets nothing. */
export interface AppSight {
  get(id: string): SeenApp | undefined
  ids(): Iterable<string>
  /** The id of the app whose pod has this name. */
  ofPod(namespace: string, name: string): string | undefined
  /** Milliseconds since the watches of apps and pods heard from the API server. */
  silenceMs(): number
}

export interface AppOwnerOptions {
  readonly stampPolicy: IdleConfig['annotations']['app']
  readonly sight: AppSight
  readonly store: Pick<ActivityStore, 'read' | 'requestStop' | 'tellStop' | 'withdrawStop'>
  readonly kube: Pick<KubeClient, 'patch'>
  /** Where an app sees its own paths, such as `/console/apps/a/`. */
  readonly prefixOf: (id: string) => string
  readonly failpoint: Failpoint
  /** An app was stopped by this process; the answer of the API server is newer than any watch. */
  readonly onStopped: (app: SeenApp, written: KubeObject) => void
}

type Running = SeenApp & { readonly pod: SeenPod }

/** Asked where an app has no web interface: nothing answers there. */
const noPort = 1
const agent = 'idle'

export class AppOwner implements WorkloadOwner {
  readonly kind = 'app'
  /** Gateways tell their traffic, and they are measured: silence of either is known. */
  readonly unreported = [] as const
  readonly stampPolicy: AppOwnerOptions['stampPolicy']
  readonly #options: AppOwnerOptions

  constructor(options: AppOwnerOptions) {
    this.#options = options
    this.stampPolicy = options.stampPolicy
  }

  facts(id: string): WorkloadFacts | undefined {
    const running = this.#running(id)
    if (!running) return undefined
    const { pod } = running
    return {
      ...{ kind: this.kind, id, podUid: pod.uid, stamps: running.stamps },
      mayBeAsked: pod.ready && !pod.hostNetwork && pod.ip !== '',
      startedMs: pod.startedMs || undefined,
    }
  }

  /** Whether the watches show that its pod ends, or is to end. */
  isEnding(id: string): boolean {
    const app = this.#options.sight.get(id)
    return app?.pod !== undefined && (!app.pod.running || app.deleting || isStopped(app))
  }

  /** All ids that the watches show. */
  ids(): Iterable<string> {
    return this.#options.sight.ids()
  }

  /** The app whose pod this is. */
  ofPod(namespace: string, name: string): WorkloadFacts | undefined {
    const id = this.#options.sight.ofPod(namespace, name)
    return id !== undefined && this.#running(id)?.pod.name === name ? this.facts(id) : undefined
  }

  silenceMs(): number {
    return this.#options.sight.silenceMs()
  }

  async read({ id, podUid }: WorkloadFacts): Promise<Known | undefined> {
    const running = this.#running(id)
    if (running?.pod.uid !== podUid) return undefined
    const { group, tenant, instanceType: size, pod, ref } = running
    return {
      read: await this.#options.store.read(this.kind, id, podUid),
      traits: { size, image: pod.image, groups: [group], tenant, namespace: ref.namespace },
      target: async () => this.#target(id),
      // By the version from before the look, so that an edit since then wins.
      stop: (request, limit) => this.#stop(running, request, limit),
    }
  }

  /** What somebody wrote since the look stays, for the next one to believe. */
  async stamp(facts: WorkloadFacts, annotations: StampPatch, signal: AbortSignal): Promise<void> {
    const running = this.#running(facts.id)
    if (running?.pod.uid !== facts.podUid) return
    const isEdited = running.stamps.lastActivity !== facts.stamps.lastActivity
    if (isEdited && stamps.lastActivity in annotations) return
    await this.#annotate(running, annotations, signal)
  }

  /** The annotations to remove from one that is stopped, or has no pod: its next idle clock begins anew. */
  leftovers(id: string): StampPatch | undefined {
    const app = this.#options.sight.get(id)
    if (!app || app.deleting || this.stampPolicy === 'off' || this.#running(id)) return undefined
    return withoutActivity(app.stamps)
  }

  /** Removes what `leftovers` says, best effort. @throws {RetryLater} {KubeError} */
  async tidy(id: string, signal: AbortSignal): Promise<void> {
    const app = this.#options.sight.get(id)
    const patch = this.leftovers(id)
    if (app && patch) await this.#annotate(app, patch, signal)
  }

  async #stop(app: Running, request: StopRequest, limit: StopLimit): Promise<StopResult> {
    const { store, failpoint, kube, onStopped } = this.#options
    const { ref, uid, resourceVersion } = app
    const annotations = this.stampPolicy === 'off' ? undefined : withoutActivity(app.stamps)
    const patch = { spec: { stop: true }, ...(annotations && { metadata: { annotations } }) }
    const options = { signal: limit.signal, check: () => limit.check(), resourceVersion, agent }
    let written: KubeObject | null = null
    const result = await stopByPatch({
      ...{ request, store, failpoint },
      patch: async () => {
        written = await kube.patch({ ...ref, uid }, patch, options)
        return written !== null
      },
      isStopped: () => this.#isStopped(app, request.id),
    })
    if (result !== 'written') return result
    onStopped(app, written!)
    return 'requested'
  }

  #isStopped({ uid }: SeenApp, id: string): boolean {
    const now = this.#options.sight.get(id)
    return now?.uid === uid && isStopped(now)
  }

  async #annotate({ ref, uid }: SeenApp, annotations: StampPatch, signal: AbortSignal): Promise<void> {
    await this.#options.kube.patch({ ...ref, uid }, { metadata: { annotations } }, { signal, agent })
  }

  /** By the pod of the moment. An address that is none is refused by the probe, in words. */
  #target(id: string): ProbeTarget {
    const { pod, port = noPort } = this.#running(id) ?? {}
    return { address: pod?.ip ?? '', port, prefix: this.#options.prefixOf(id), credential: undefined }
  }

  #running(id: string): Running | undefined {
    const app = this.#options.sight.get(id)
    if (!app?.pod?.running || app.deleting || isStopped(app)) return undefined
    return { ...app, pod: app.pod }
  }
}

/** Also by the annotation that people write: it becomes `spec.stop`. */
const isStopped = ({ stop, stamps: { stopped } }: SeenApp): boolean => stop || stopped !== undefined
