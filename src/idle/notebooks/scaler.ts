/** Keeps a labelled StatefulSet at no replica while its annotation says that it is stopped, and at one without it. */
import { Buckets } from '../../base/buckets.ts'
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { Loop, type Rest, restAfter } from '../../base/loop.ts'
import { Turns } from '../../base/turns.ts'
import { inOperatorsWords, isNotFound, type KubeClient, KubeError } from '../../kube/client.ts'
import { Rarely, type RarelyOptions } from '../../telemetry/rarely.ts'
import { type SetFacts, setKind } from './objects.ts'
import { keyOf, type Shown } from './sight.ts'

export interface ScalerOptions {
  readonly sets: Pick<Shown<SetFacts>, 'get' | 'values' | 'on'>
  readonly kube: Pick<KubeClient, 'patch'>
  readonly clock: Clock
  readonly log: RarelyOptions['log']
}

/** Of one set: somebody else may want another number, and write it again and again. */
const rate = { perSecond: 1 / 10, burst: 3 }
const retry = { baseMs: 500, capMs: 10_000 }
const never: Rest = { ms: 2 ** 31 - 1 }

export class Scaler {
  readonly #options: ScalerOptions
  readonly #buckets: Buckets
  readonly #trouble: Rarely
  readonly #loop: Loop
  /** Keys of sets, by namespace: one with thousands delays no other. */
  readonly #waiting = new Turns<string>()
  #off: (() => void) | undefined

  constructor(options: ScalerOptions) {
    const { clock } = options
    this.#options = options
    this.#buckets = new Buckets(rate, clock)
    const words = { trouble: 'StatefulSets cannot be scaled', over: 'StatefulSets are scaled again' }
    this.#trouble = new Rarely({ ...options, ...words })
    this.#loop = new Loop({
      clock,
      round: signal => this.#round(signal),
      failed: (error, failures) => {
        if (!(error instanceof RetryLater || error instanceof KubeError)) throw error
        this.#trouble.failed(error instanceof KubeError ? inOperatorsWords(error) : error.message)
        return restAfter(failures, retry)
      },
    })
  }

  start(): void {
    const { sets } = this.#options
    this.#off = sets.on(change => {
      if (change.type === 'put' && change.value.labelled) this.#add(change.value)
    })
    for (const set of sets.values()) if (set.labelled) this.#add(set)
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#off?.()
    await this.#loop.stop()
  }

  #add(set: SetFacts): void {
    if (!isOff(set)) return
    this.#waiting.set(set.namespace, keyOf(set), keyOf(set))
    this.#loop.wake()
  }

  async #round(signal: AbortSignal): Promise<Rest> {
    let nextMs = never.ms
    let failure: unknown
    const later: SetFacts[] = []
    for (let key = this.#waiting.take(); key !== undefined && !signal.aborted; key = this.#waiting.take()) {
      const set = this.#options.sets.get(key)
      // The watch brings what follows.
      if (!set || !isOff(set)) continue
      const waitMs = this.#buckets.take(key)
      if (waitMs > 0) later.push(set)
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs)
      else
        await this.#scale(set, signal).catch(error => {
          later.push(set)
          failure = error
        })
    }
    for (const set of later) this.#waiting.set(set.namespace, keyOf(set), keyOf(set))
    // One that cannot be scaled must not hold the others.
    if (failure !== undefined) throw failure
    return { ms: nextMs }
  }

  /** By the version that was seen: another replica does it, or somebody has just changed the annotation. */
  async #scale(set: SetFacts, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid, resourceVersion } = set
    const ref = { ...setKind, namespace, name, uid }
    const patch = { spec: { replicas: wanted(set) } }
    try {
      await this.#options.kube.patch(ref, patch, { resourceVersion, signal, agent: 'idle' })
      this.#trouble.worked()
    } catch (error) {
      if (!(error instanceof KubeError && (error.status === 409 || isNotFound(error)))) throw error
    }
  }
}

const wanted = ({ stamps }: SetFacts): number => (stamps.stopped === undefined ? 1 : 0)

const isOff = (set: SetFacts): boolean => set.labelled && !set.deleting && set.replicas !== wanted(set)
