/**
 * To hold the records against the cluster, both ways. One path serves the first start, an emptied Redis, a restart, a
 * failover with lost writes, and the slow interval: lists from the API server itself, then the records, then one
 * conditional script for each user. Until the last script wrote the generation, nobody believes an absence in Redis.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { Deadline } from '../kube/deadline.ts'
import type { NamespaceFacts, PodFacts } from '../labs/facts.ts'
import { labels, labNames } from '../labs/names.ts'
import { projectNamespace, projectPod } from '../labs/project.ts'
import type { Leases } from '../leases/leases.ts'
import type { CompareStore, Mark } from '../store/compares.ts'
import type { LabStore } from '../store/labs.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ClusterClient } from './cluster.ts'
import type { Debris } from './debris.ts'
import type { Monitor } from './monitor.ts'
import { type Decision, decide, type Found } from './settle.ts'

export interface ComparerOptions {
  readonly store: CompareStore
  readonly labs: LabStore
  readonly leases: Leases
  readonly kube: ClusterClient
  readonly monitor: Monitor
  readonly debris: Debris
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly installation: string
  readonly namespacePrefix: string
  readonly intervalMs: number
  /** How long former owners may act on what was found: a lease's TTL and the longest request. */
  readonly holdMs: number
  /** How long the lists of one compare may take. */
  readonly listMs: number
  readonly deleteTimeoutMs: number
  readonly failedLabMs: number
  readonly failpoint: (place: string) => void | Promise<void>
}

/** How often a user who moves on is read again in one compare. */
const maxRounds = 20
/** Users settled at once. */
const breadth = 16
const retryMs = 250

interface Picture {
  readonly mark: Mark
  readonly highestOp: number
  readonly found: ReadonlyMap<string, Found>
}

export class Comparer {
  readonly #options: ComparerOptions
  readonly #closed = new AbortController()
  #wake = new AbortController()
  #wanted = true
  /** At the start something may have befallen labs that nobody watched. */
  #insisted = true
  #loop: Promise<void> | undefined

  constructor(options: ComparerOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop = this.#compareForever()
  }

  async stop(): Promise<void> {
    this.#closed.abort()
    this.#wake.abort()
    await this.#loop
  }

  /**
   * Asks for a compare, soon. `insist`: for what was seen in the cluster; else it is enough that another replica compares
   * the data of this Redis.
   */
  request(insist: boolean): void {
    this.#wanted = true
    this.#insisted ||= insist
    this.#wake.abort()
  }

  async #compareForever(): Promise<void> {
    const { clock, intervalMs, log } = this.#options
    while (!this.#closed.signal.aborted) {
      this.#wake = new AbortController()
      if (!this.#wanted) await clock.sleep(intervalMs * (0.9 + Math.random() * 0.2), this.#wake.signal).catch(() => {})
      if (this.#closed.signal.aborted) return
      // What is asked for from here on is for the next turn.
      const [asked, insisted] = [this.#wanted, this.#insisted]
      this.#wanted = false
      this.#insisted = false
      const begunMs = clock.monotonicMs()
      let againMs = retryMs
      const done = await this.#turn(asked, insisted).catch(error => {
        log.warn({ reason: (error as Error).message }, 'the compare is put off')
        // Others go first, for as long as this one kept them waiting: it may be the one that cannot reach the API server.
        againMs = Math.max(retryMs, clock.monotonicMs() - begunMs)
        return false
      })
      if (!done) this.request(insisted)
      if (!done) await clock.sleep(againMs, this.#closed.signal).catch(() => {})
    }
  }

  /** @returns whether nothing is left to do: compared here, or by another replica */
  async #turn(asked: boolean, insisted: boolean): Promise<boolean> {
    const { leases, metrics, clock, labs } = this.#options
    if (asked && !insisted && (await labs.compared())) return true
    const lease = await leases.acquireCompare()
    // Whoever holds the lease does it. Where it is needed, or was asked for by what was seen here, we come back to it.
    if (!lease) return !insisted && (await labs.compared())
    const begunMs = clock.monotonicMs()
    let result: 'done' | 'failed' | 'restarted' = 'failed'
    try {
      result = (await this.#compare()) ? 'done' : 'restarted'
      if (result === 'done') metrics.compareLastSuccess.set(clock.wallMs() / 1000)
      return result === 'done'
    } finally {
      metrics.compareDuration.observe({ result }, (clock.monotonicMs() - begunMs) / 1000)
      await lease.release()
    }
  }

  async #compare(): Promise<boolean> {
    const { store, holdMs, failpoint, log } = this.#options
    const mark = await store.begin(randomUUID(), holdMs)
    await failpoint('compare.begun')
    const { found, highestOp } = await this.#listInTime()
    await failpoint('compare.listed')
    const users = [...new Set([...(await store.users()), ...found.keys()])]
    const picture = { mark, highestOp, found }
    for (let i = 0; i < users.length; i += breadth) {
      const settled = await Promise.all(users.slice(i, i + breadth).map(user => this.#settle(user, picture)))
      if (settled.includes(false)) return false
    }
    await failpoint('compare.settled')
    const ended = await store.end(mark, highestOp)
    if (ended && mark.needed) log.info({ users: users.length, highestOp }, 'the records were compared with the cluster')
    return ended
  }

  /** Lists that do not come are given up, with the lease: another replica may reach the API server. */
  async #listInTime(): Promise<Pick<Picture, 'found' | 'highestOp'>> {
    const { clock, listMs } = this.#options
    const deadline = new Deadline(clock, listMs, this.#closed.signal)
    try {
      return await this.#list(deadline.signal)
    } finally {
      deadline.release()
    }
  }

  /** What the API server has of ours; what is foreign in name or user is not seen. */
  async #list(signal: AbortSignal): Promise<Pick<Picture, 'found' | 'highestOp'>> {
    const { kube, installation, namespacePrefix } = this.#options
    const scope = {
      labelSelector: `${labels.installation}=${installation}`,
      signal,
      agent: 'compare',
    }
    const namespaces = (await kube.list('v1', 'Namespace', scope)).map(projectNamespace)
    const pods = (await kube.list('v1', 'Pod', scope)).map(projectPod)
    const byNamespace = Map.groupBy(pods, pod => pod.namespace)
    const ops = [...namespaces, ...pods].map(({ op }) => op ?? 0)
    const found = new Map<string, Found>()
    for (const namespace of namespaces) {
      if (!namespace.user || namespace.op === undefined) continue
      const names = labNames(namespacePrefix, namespace.user)
      if (names.namespace !== namespace.name) continue
      found.set(namespace.user, { namespace, pod: labPod(namespace, names.lab, byNamespace.get(namespace.name) ?? []) })
    }
    return { found, highestOp: ops.reduce((highest, op) => Math.max(highest, op), 0) }
  }

  /** @returns false when the compare was overtaken */
  async #settle(user: string, { mark, highestOp, found }: Picture): Promise<boolean> {
    const { store, deleteTimeoutMs, failedLabMs } = this.#options
    for (let round = 0; round < maxRounds && !this.#closed.signal.aborted; round++) {
      const standing = await store.standing(user)
      const decision = decide(user, standing, found.get(user), mark.nowMs - failedLabMs)
      if (decision.kind !== 'settle') {
        await this.#attend(user, decision, mark)
        return true
      }
      const settlement = { ...decision.settlement, user, standing, highestOp, timeoutMs: deleteTimeoutMs }
      const answer = await store.settle(mark, settlement)
      if (answer !== 'moved') return answer === 'settled'
    }
    return false
  }

  /** What is conditional in itself. */
  async #attend(user: string, decision: Exclude<Decision, { kind: 'settle' }>, mark: Mark): Promise<void> {
    const { monitor, debris } = this.#options
    if (decision.kind === 'judge') await monitor.judge(decision.pod, mark)
    if (decision.kind === 'confirm' && (await debris.isPodGone(user, decision.podUid))) {
      await monitor.judgeGone(user, decision.podUid, mark)
    }
    if (decision.kind === 'debris') await this.#aside(user, () => debris.remove(decision.namespace))
    if (decision.kind === 'expire') await this.#aside(user, () => this.#expire(user, decision.op))
  }

  /** Tidying up: what stands in its way for one user must not keep the records of all from being believed. */
  async #aside(user: string, tidy: () => Promise<unknown>): Promise<void> {
    await tidy().catch(error => this.#options.log.warn({ user, reason: (error as Error).message }, 'tidying up failed'))
  }

  #expire(user: string, op: number): Promise<unknown> {
    const { labs, deleteTimeoutMs } = this.#options
    const events = [['info', 'A lab that failed long ago is removed']] as const
    const deletion = { user, nonce: randomUUID(), timeoutMs: deleteTimeoutMs, events, superseded: [] }
    return labs.acceptDelete({ ...deletion, onlyIfOp: op })
  }
}

function labPod(namespace: NamespaceFacts, name: string, pods: readonly PodFacts[]): PodFacts | undefined {
  return pods.find(pod => pod.name === name && pod.ownerUid === namespace.uid)
}
