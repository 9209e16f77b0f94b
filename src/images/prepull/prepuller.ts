/**
 * Pulls images onto nodes before users request them (SQR-066, "Prepulling"). One replica does it, by lease. Two do no harm,
 * since a DaemonSet's name depends on the image. It reads the cluster and the records, decides, writes the records and then
 * acts, so that after its death another replica finds all that it knew.
 */

import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { restAfter } from '../../base/loop.ts'
import { qualifiedRepositoryOf } from '../../config/images.ts'
import type { Config } from '../../config/schema.ts'
import { Duty, type DutyRest, type Take } from '../../duties/duty.ts'
import { isAlreadyExists, type KubeClient, KubeError, type Log } from '../../kube/client.ts'
import type { Leases } from '../../leases/leases.ts'
import type { PrepullStore } from '../../store/prepulls.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Catalogue, PrepullStatus } from '../catalogue/types.ts'
import {
  decidePrepull,
  type PrepullDecision,
  type PrepullRules,
  type PrepullWorld,
  type PullOrder,
  recordsAfterRefusal,
} from './decide.ts'
import { type PullSet, projectPullSet, renderPullNodes, renderPullSet } from './pull-set.ts'
import { prepullStatus } from './status.ts'
import type { PrepullView } from './watches.ts'

export interface PrepullerOptions {
  readonly config: Pick<Config, 'installation' | 'lab' | 'images' | 'engine'>
  /** The controller's own namespace, which has the DaemonSets. */
  readonly namespace: string
  readonly view: PrepullView
  readonly kube: Pick<KubeClient, 'create' | 'get' | 'patch' | 'delete'>
  readonly store: Pick<PrepullStore, 'read' | 'write' | 'lease'>
  readonly leases: Pick<Leases, 'acquireTask'>
  /** null while Redis has no catalogue: then nothing is pulled, and nothing removed. */
  readonly catalogue: () => Promise<Catalogue | null>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<Metrics, 'prepullFailures' | 'prepullsFailing'>
  readonly failpoint: (place: string) => void | Promise<void>
}

/** The pause after a decision, so that the next one covers all changes meanwhile. */
const gatherMs = 250
/** Longest time without a decision: the lease may be lost, or the catalogue may have changed. */
const idleMs = 10_000
/** After a failure another replica may try; this one tries again later. */
const backoff = { baseMs: 1000, capMs: 30_000 }

export class Prepuller {
  readonly #options: PrepullerOptions
  readonly #rules: PrepullRules & { readonly repository: string }
  readonly #duty: Duty
  #offView: (() => void) | undefined

  constructor(options: PrepullerOptions) {
    const { clock, leases, store, log, metrics } = options
    const { installation, lab, images } = options.config
    const { timeoutSeconds, retrySeconds, maxRetrySeconds, maxAtOnce } = images.prepull
    this.#options = options
    this.#duty = new Duty({
      clock,
      leases,
      lease: store.lease,
      round: take => this.#round(take),
      failed: (error, failures) => {
        log.warn({ reason: (error as Error).message }, 'prepulling is put off')
        return restAfter(failures, backoff)
      },
      // From here on another replica reports it.
      onEnd: () => metrics.prepullsFailing.set(0),
    })
    this.#rules = {
      installation,
      placement: lab,
      repository: qualifiedRepositoryOf(images),
      timeoutMs: timeoutSeconds * 1000,
      retryMs: retrySeconds * 1000,
      maxRetryMs: maxRetrySeconds * 1000,
      maxAtOnce,
    }
  }

  /** Begins to prepull, or to wait for the lease. Does not start the watches. */
  start(): void {
    this.#duty.start()
  }

  /** Releases the lease. Pulls in progress continue, and another replica ends them. */
  async stop(): Promise<void> {
    await this.#duty.stop()
    this.#offView?.()
  }

  /** Makes it decide soon, since the catalogue may have changed. */
  wake(): void {
    this.#duty.wake()
  }

  /**
   * The state of a catalogue's images on the nodes, which is the same from any replica.
   * @throws {RetryLater} when the watches are not ready yet, or Redis does not answer
   */
  async status(catalogue: Catalogue): Promise<PrepullStatus> {
    const { view, store } = this.#options
    if (!view.ready()) throw new RetryLater('the nodes of the cluster are not known yet')
    // The cluster is read before the records, since a pod is removed only after its pull was recorded.
    const [nodes, pods] = [view.nodes(), view.pods()]
    const { records } = await store.read()
    return prepullStatus(catalogue, { nodes, pods, records }, this.#rules)
  }

  /** Prepulls while the lease is held. */
  async #round(take: Take): Promise<DutyRest> {
    const { view, config } = this.#options
    await view.whenReady(this.#duty.signal)
    this.#offView ??= view.onChange(() => this.wake())
    const token = await take()
    const dueInMs = token === null ? null : await this.#look(token)
    if (dueInMs === null) return { ms: 0, deafMs: config.engine.scanIntervalMs }
    return { ms: Math.min(idleMs, Math.max(0, dueInMs - gatherMs)), deafMs: gatherMs, keep: true }
  }

  /** @returns the milliseconds until the next decision at the latest; null when the lease is lost */
  async #look(token: string): Promise<number | null> {
    const { store, view, catalogue, config, failpoint } = this.#options
    const known = await catalogue()
    const { held, nowMs, records } = await store.read(token)
    if (!held) return null
    if (!known) return idleMs
    const world = { nodes: view.nodes(), sets: view.sets(), pods: view.pods(), records, nowMs }
    const decision = decidePrepull(config.images.prepull.enabled ? known.prepull : [], world, this.#rules)
    if (!(await store.write(token, records, decision.records))) return null
    this.#report(decision)
    await failpoint('prepull.recorded')
    await this.#carryOut(decision, world, token)
    await failpoint('prepull.acted')
    return decision.dueMs === undefined ? idleMs : decision.dueMs - nowMs
  }

  #report({ failed, remove, records }: PrepullDecision): void {
    const { log, metrics } = this.#options
    metrics.prepullsFailing.set(records.failures.size)
    metrics.prepullFailures.inc({ result: 'failed' }, failed.length)
    for (const { image, failure } of failed) {
      const { attempts, error } = failure
      log.warn({ image: image.reference, attempts, reason: error }, 'an image could not be pulled')
    }
    for (const { set, why } of remove) {
      if (why === 'pulled') log.info({ image: set.image }, 'an image is on all nodes')
      if (why === 'unwanted') log.info({ image: set.image }, 'the pull of an unwanted image was ended')
    }
  }

  /** Carries out each order separately: a failure of one image must not delay the others. */
  async #carryOut(decision: PrepullDecision, world: PrepullWorld, token: string): Promise<void> {
    const { log, metrics, store } = this.#options
    let records = decision.records
    const refused = async (order: PullOrder, error: unknown) => {
      if (!(error instanceof KubeError)) throw error
      const before = records
      records = recordsAfterRefusal(
        records,
        order,
        `The cluster refuses the pull: ${error.message}`,
        world,
        this.#rules,
      )
      log.warn({ image: order.image.reference, reason: error.message }, 'a pull was refused')
      metrics.prepullFailures.inc({ result: 'refused' })
      await store.write(token, before, records)
    }
    const results = await Promise.allSettled([
      ...decision.remove.map(({ set }) => this.#remove(set)),
      ...decision.extend.map(order => this.#restrict(order.set, order).catch(error => refused(order, error))),
      ...decision.create.map(order => this.#create(order, world.nowMs).catch(error => refused(order, error))),
    ])
    const failure = results.find(result => result.status === 'rejected')
    if (failure) throw failure.reason
  }

  async #create(order: PullOrder, begunMs: number): Promise<void> {
    const { kube, config, namespace, log } = this.#options
    const { image, nodes } = order
    try {
      await kube.create(renderPullSet({ config, namespace, image, nodes, begunMs }), this.#call('create'))
      log.info({ image: image.reference, digest: image.digest, nodes: nodes.length }, 'an image is pulled onto nodes')
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      // It is ours but not seen yet: a reply was lost, or another replica made it.
      const standing = await kube.get(this.#ref(order.name), this.#call('get'))
      if (standing) await this.#restrict(projectPullSet(standing), order)
    }
  }

  /** Extends a DaemonSet to the nodes of the order, if it lacks some. */
  async #restrict({ name, uid, deleting, nodes }: PullSet, order: PullOrder): Promise<void> {
    const { kube, log } = this.#options
    if (deleting || order.nodes.every(node => nodes.includes(node))) return
    try {
      await kube.patch({ ...this.#ref(name), uid }, renderPullNodes(order.nodes), this.#call('patch'))
      log.info({ image: order.image.reference, nodes: order.nodes.length }, 'nodes have joined a pull')
    } catch (error) {
      // Another DaemonSet has its name: the next decision handles that.
      const standing = error instanceof KubeError ? await kube.get(this.#ref(name), this.#call('get')) : undefined
      if (standing && standing.metadata.uid !== uid) return
      if (error instanceof KubeError && error.status === 409) throw new RetryLater(error.message)
      throw error
    }
  }

  async #remove({ name, uid }: PullSet): Promise<void> {
    await this.#options.kube.delete({ ...this.#ref(name), uid }, { ...this.#call('delete'), propagation: 'Background' })
  }

  #ref(name: string) {
    return { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace: this.#options.namespace, name }
  }

  #call(verb: string) {
    const pass = (place: string) => this.#options.failpoint(`prepull.${verb}.${place}`)
    return { agent: 'prepull', signal: this.#duty.signal, failpoint: pass }
  }
}
