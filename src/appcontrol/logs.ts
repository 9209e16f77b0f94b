/**
 * The logs of apps' pods. Anybody who may make pods in a namespace can write labels and names, so a pod is an app's only by the UIDs
 * of its owners: ReplicaSet, Deployment, PhApplication. A log is opened by a name, and another pod may get that name meanwhile: not
 * a byte is passed on before the pod is read once more, with the UID that was judged.
 */
import { groupLabel } from '../apps/names.ts'
import { appLabels, appParent } from '../apps/words.ts'
import { ApiError, invalid, unavailable } from '../base/errors.ts'
import { asObject } from '../base/json.ts'
import { cleanWords } from '../base/text.ts'
import { keyOf } from '../kube/cache.ts'
import type { KubeClient, OpenStream } from '../kube/client.ts'
import { KubeError } from '../kube/errors.ts'
import { isParent } from '../reconcile/facts.ts'
import type { Fact, OverlaidWatch } from '../reconcile/types.ts'
import { noPod, notMember, severalPods } from './problems.ts'
import { type Asker, holderOf, type IsMember } from './sights.ts'

export interface LogWish {
  readonly pod: string
  readonly container?: string | undefined
  readonly follow: boolean
  readonly tailLines?: number | undefined
}

/** A log that is open, of which nothing was passed on yet. */
export type LogStream = OpenStream

/** A log that somebody may read. */
export interface PodLog {
  /** The name of the app, for logs of ours. */
  readonly app: string
  /**
   * Opens it; the signal ends it.
   * @throws {ApiError} 404 when the pod is another one now, 409 when it has no log yet, 503
   */
  open(signal: AbortSignal): Promise<LogStream>
  /** Whether the caller may read it now: people leave groups while they follow a log. Asks nobody. @param caller as he is now */
  mayRead(caller: Asker['caller']): boolean
}

/** Every method throws {ApiError}: 403 for a caller who is no member, 404 for a pod that is no app's, 409 for several, 422, 503. */
export interface Logs {
  find(wish: LogWish, asker: Asker): Promise<PodLog>
}

/** A pod as its watch shows it, and the names of its containers. */
export interface SeenPod {
  readonly fact: Fact
  readonly containers: readonly string[]
}

export interface LogOptions {
  readonly sights: {
    readonly apps: Pick<OverlaidWatch, 'get'>
    readonly deployments: Pick<OverlaidWatch, 'get'>
    /** Those of this name, in all namespaces, which bear the label of apps. */
    podsNamed(name: string): Iterable<SeenPod>
    groupOf(app: Fact): string | undefined
    /** Apps of this id, in all namespaces. */
    named(id: string): Iterable<Fact>
  }
  readonly kube: Pick<KubeClient, 'get' | 'log'>
  readonly isMember: IsMember
  readonly isSynced: () => boolean
  /** `api.limits.maxLogSeconds` */
  readonly maxSeconds: number
}

interface Owned extends SeenPod {
  readonly app: Fact
  readonly group: string
}

export class AppLogs implements Logs {
  readonly #options: LogOptions

  constructor(options: LogOptions) {
    this.#options = options
  }

  async find(wish: LogWish, asker: Asker): Promise<PodLog> {
    const { sights, isSynced } = this.#options
    if (!isSynced()) throw unavailable('the watches do not show the cluster yet')
    const agent = `log user=${encodeURIComponent(asker.caller.username)}`
    const judged = await Promise.all([...sights.podsNamed(wish.pod)].map(pod => this.#owned(pod, agent)))
    const owned = judged.filter(each => each !== undefined)
    if (owned.length === 0) throw noPod()
    const seen = this.#chosen(owned.filter(each => this.#isOf(asker, each)))
    if (!seen) throw notMember(owned[0]!.group)
    const { container = seen.containers[0] } = wish
    if (wish.container !== undefined && !seen.containers.includes(wish.container))
      throw invalid('the pod has no container of this name', 'query', 'container')
    return {
      app: seen.app.ref.name,
      open: signal => this.#open(seen, { ...wish, container }, agent, signal),
      mayRead: caller => this.#mayRead(seen, { ...asker, caller }),
    }
  }

  #isOf({ audience, caller }: Asker, { group }: Owned): boolean {
    return audience === 'admin' || this.#options.isMember(caller, group)
  }

  #mayRead(seen: Owned, asker: Asker): boolean {
    const { apps, groupOf } = this.#options.sights
    const { ref, uid } = seen.app
    const app = apps.get(keyOf(ref.namespace, ref.name))
    if (app?.uid !== uid || groupOf(app) !== seen.group) return false
    try {
      return this.#isOf(asker, seen)
    } catch (error) {
      // The members are not known now.
      if (error instanceof ApiError) return false
      throw error
    }
  }

  /**
   * A user who makes pods in a namespace can plant a whole chain of owners there, with the name of somebody else's pod.
   * @throws {ApiError} 409 rather than to show the log of the wrong one
   */
  #chosen(candidates: readonly Owned[]): Owned | undefined {
    if (candidates.length <= 1) return candidates[0]
    const holders = candidates.filter(({ app }) => this.#holds(app))
    if (holders.length !== 1) throw severalPods()
    return holders[0]
  }

  #holds(app: Fact): boolean {
    const { named, groupOf } = this.#options.sights
    return holderOf([...named(app.ref.name)].filter(each => groupOf(each) !== undefined))?.uid === app.uid
  }

  /** The app of a pod, by the UIDs of all owners between; undefined if there is none. */
  async #owned(pod: SeenPod, agent: string): Promise<Owned | undefined> {
    const { kube, sights } = this.#options
    const { namespace = '', name: _ } = pod.fact.ref
    const label = asObject(asObject(pod.fact.owned.metadata).labels)[appLabels.group]
    const owner = pod.fact.owners.find(each => isParent(each, replicaSets))
    if (typeof label !== 'string' || !owner) return undefined
    const set = await kube.get({ ...replicaSets, namespace, name: owner.name }, { agent })
    if (!set || set.metadata.uid !== owner.uid) return undefined
    const ofSet = set.metadata.ownerReferences?.find(each => isParent(each, deployments))
    const deployment = ofSet && sights.deployments.get(keyOf(namespace, ofSet.name))
    if (!deployment || deployment.uid !== ofSet.uid) return undefined
    const ofDeployment = deployment.owners.find(each => isParent(each, appParent))
    const app = ofDeployment && sights.apps.get(keyOf(namespace, ofDeployment.name))
    if (!app || app.uid !== ofDeployment.uid) return undefined
    const group = sights.groupOf(app)
    return group !== undefined && label === groupLabel(group) ? { ...pod, app, group } : undefined
  }

  async #open({ fact }: Owned, wish: LogWish, agent: string, signal: AbortSignal): Promise<LogStream> {
    const { kube, maxSeconds } = this.#options
    const { container, follow, tailLines } = wish
    const { namespace = '', name } = fact.ref
    // Longer than it is followed: the signal ends it before.
    const options = { container, follow, tailLines, signal, agent, headTimeoutMs: maxSeconds * 2_000 }
    try {
      const [opened] = await Promise.allSettled([kube.log({ namespace, name }, options)])
      if (opened.status === 'fulfilled') opened.value.pause()
      else if (signal.aborted) throw signal.reason
      // A UID never comes back: the same one before and after was there when the log was opened.
      const now = await kube.get(fact.ref, { agent, signal })
      if (now?.metadata.uid !== fact.uid) throw noPod()
      if (opened.status === 'rejected') throw opened.reason
      return opened.value
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw inWords(error)
    }
  }
}

const replicaSets = { apiVersion: 'apps/v1', kind: 'ReplicaSet' }
const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }

function inWords(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  // 404: the pod is there, and its node knows no log of it.
  if (!(error instanceof KubeError) || error.status >= 500 || error.status === 404)
    return unavailable('the log cannot be read now')
  // Such as a container that waits for its image.
  if (error.status === 400) return new ApiError(409, { msg: cleanWords(error.message), type: 'conflict' })
  return unavailable('the API server refuses to show the log')
}
