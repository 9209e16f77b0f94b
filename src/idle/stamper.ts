/**
 * Writes annotations in the background, a bounded number a second: what is over waits, and delays no check. Namespaces take
 * turns. Best effort: what fails is written anew at a later check.
 */
import { Buckets } from '../base/buckets.ts'
import type { Clock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { Loop, type Rest } from '../base/loop.ts'
import { Turns } from '../base/turns.ts'
import { inOperatorsWords, isNotFound, KubeError } from '../kube/client.ts'
import { Rarely, type RarelyOptions } from '../telemetry/rarely.ts'
import {
  namespaceIn,
  type StampPatch,
  type Stamps,
  type WorkloadFacts,
  type WorkloadKey,
  type WorkloadOwner,
} from './workloads/workload.ts'

/** Without `facts` all that waits is written. */
export type StampedOwner = Pick<WorkloadOwner, 'kind' | 'stamp'> & Partial<Pick<WorkloadOwner, 'facts'>>

/** Whether a patch is still to be written, where the annotations are these by now. */
export type StillDue = (now: Stamps) => boolean

export interface StamperOptions {
  readonly owners: readonly StampedOwner[]
  readonly perSecond: number
  readonly clock: Clock
  readonly log: RarelyOptions['log']
}

interface Waiting {
  readonly facts: WorkloadFacts
  readonly patch: StampPatch
  readonly isDue: StillDue
}

/** Writes at once. */
const together = 8
const bucket = 'stamps'

export class Stamper {
  readonly #options: StamperOptions
  readonly #buckets: Buckets
  readonly #trouble: Rarely
  readonly #loop: Loop
  /** By namespace, and by workload: a newer patch has all that an older one has. */
  readonly #waiting = new Turns<Waiting>()

  constructor(options: StamperOptions) {
    const { clock, perSecond } = options
    this.#options = options
    this.#buckets = new Buckets({ perSecond, burst: Math.max(1, perSecond) }, clock)
    const words = { trouble: 'annotations of workloads cannot be written', over: 'annotations are written again' }
    this.#trouble = new Rarely({ ...options, ...words })
    this.#loop = new Loop({ clock, round: signal => this.#round(signal), failed: () => ({ ms: 1000 }) })
  }

  /** The number of workloads whose annotations wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  start(): void {
    this.#loop.start({ ms: Number.MAX_SAFE_INTEGER })
  }

  /** Drops what waits. */
  async stop(): Promise<void> {
    this.#waiting.clear()
    await this.#loop.stop()
  }

  /** @param isDue asked when its turn has come: another replica may have written a later look since */
  write(facts: WorkloadFacts, patch: StampPatch, isDue: StillDue = () => true): void {
    const key: WorkloadKey = `${facts.kind}:${facts.id}`
    const group = namespaceIn(facts.id)
    const before = this.#waiting.get(group, key)
    // One for a former pod is lost.
    const older = before?.facts.podUid === facts.podUid ? before : undefined
    this.#waiting.set(group, key, {
      ...{ facts, patch: { ...older?.patch, ...patch } },
      isDue: now => isDue(now) || (older?.isDue(now) ?? false),
    })
    this.#loop.wake()
  }

  async #round(signal: AbortSignal): Promise<Rest> {
    let waitMs = 0
    const writes: Promise<void>[] = []
    for (let each = this.#waiting.first; each; each = this.#waiting.first) {
      const isDue = this.#isDue(each)
      waitMs = isDue && writes.length < together ? this.#buckets.take(bucket) : 0
      if (isDue && (waitMs > 0 || writes.length === together)) break
      this.#waiting.take()
      if (isDue) writes.push(this.#write(each, signal))
    }
    await Promise.all(writes)
    if (this.#waiting.size === 0) return { ms: Number.MAX_SAFE_INTEGER }
    // A wake would end the wait for a place.
    return { ms: 0, deafMs: waitMs }
  }

  #isDue({ facts, isDue }: Waiting): boolean {
    const now = this.#ownerOf(facts)?.facts?.(facts.id)
    return now?.podUid !== facts.podUid || isDue(now.stamps)
  }

  #ownerOf({ kind }: WorkloadFacts): StampedOwner | undefined {
    return this.#options.owners.find(owner => owner.kind === kind)
  }

  async #write({ facts, patch }: Waiting, signal: AbortSignal): Promise<void> {
    try {
      await this.#ownerOf(facts)?.stamp(facts, patch, signal)
      this.#trouble.worked()
    } catch (error) {
      if (signal.aborted || (error instanceof KubeError && isAbout(error))) return
      if (!(error instanceof RetryLater || error instanceof KubeError)) throw error
      this.#trouble.failed(error instanceof KubeError ? inOperatorsWords(error) : error.message)
    }
  }
}

/** It is gone, or another one by now. */
const isAbout = (error: KubeError): boolean => isNotFound(error) || error.status === 409
