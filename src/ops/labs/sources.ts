/**
 * Reads the Secrets and ConfigMaps of the controller's namespace that labs need (SQR-066, "Secrets"). It does so before the
 * acceptance, so that a missing one is reported at once. The plan holds them sealed.
 */
import type { Clock } from '../../base/clock.ts'
import { Deadline } from '../../base/deadline.ts'
import { ApiError, RetryLater } from '../../base/errors.ts'
import { KubeError } from '../../kube/client.ts'
import { type CopyConfig, copiedNames, copyFound, type FoundObject, type LabCopies } from '../../labs/copies.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { ClusterClient } from '../cluster.ts'

export interface SourcesOptions {
  readonly lab: CopyConfig
  /** The controller's own namespace. */
  readonly namespace: string
  readonly kube: Pick<ClusterClient, 'get'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Limit for one reading with its retries. */
  readonly timeoutMs: number
}

/** How long a reading is reused, since creations come in bursts. A missing object is also a result. */
const freshMs = 5_000

/** One instance serves the whole process. */
export class Sources {
  readonly #options: SourcesOptions
  readonly #names: ReturnType<typeof copiedNames>
  /** The last reading; `give` throws if it was incomplete. */
  #kept: { readonly atMs: number; readonly give: () => LabCopies } | undefined
  #reading: Promise<LabCopies> | undefined

  constructor(options: SourcesOptions) {
    this.#options = options
    this.#names = copiedNames(options.lab)
  }

  /**
   * Returns copies that are at most 5 seconds old. Concurrent calls share one reading.
   * @param span parent of the requests, if this call makes them
   * @throws {ApiError} 500 with a message for administrators, when something is missing, incomplete or too large
   * @throws {RetryLater} when the API server does not answer
   */
  async read(span: Span): Promise<LabCopies> {
    if (this.#kept && this.#options.clock.monotonicMs() - this.#kept.atMs < freshMs) return this.#kept.give()
    this.#reading ??= this.#readAnew(span).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAnew(span: Span): Promise<LabCopies> {
    const { lab, namespace, clock, timeoutMs } = this.#options
    const atMs = clock.monotonicMs()
    const deadline = new Deadline(clock, timeoutMs)
    try {
      const call = { signal: deadline.signal, span }
      const [secrets, configMaps] = await Promise.all([
        this.#findAll('Secret', this.#names.secrets, call),
        this.#findAll('ConfigMap', this.#names.configMaps, call),
      ])
      this.#kept = { atMs, give: this.#once(() => copyFound(lab, { namespace, secrets, configMaps })) }
    } catch (error) {
      const late = () => new RetryLater(`Kubernetes does not answer for now: ${(error as Error).message}`)
      const passing = error instanceof RetryLater ? error : deadline.signal.aborted ? late() : undefined
      if (!passing) throw error
      this.#options.log.warn(
        { reason: passing.message },
        'creations are put off: a Secret or ConfigMap that labs need cannot be read',
      )
      throw passing
    } finally {
      deadline.release()
    }
    return this.#kept.give()
  }

  async #findAll(kind: string, names: readonly string[], call: { signal: AbortSignal; span: Span }) {
    const found = names.map(async (name): Promise<[string, FoundObject]> => [name, await this.#find(kind, name, call)])
    return new Map(await Promise.all(found))
  }

  /** A refusal does not mean that the object is absent, but it does not pass by itself either. */
  async #find(kind: string, name: string, call: { signal: AbortSignal; span: Span }): Promise<FoundObject> {
    const { kube, namespace, log } = this.#options
    try {
      return await kube.get({ apiVersion: 'v1', kind, namespace, name }, call)
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      log.error(
        { kind, name, namespace, reason: error.message },
        'the controller is not allowed to read a Secret or ConfigMap that labs need',
      )
      return 'cannot be read, since the controller lacks the right: apply what `skylab rights` prints'
    }
  }

  /** Keeps the outcome for many callers, and logs a failure once. */
  #once(copy: () => LabCopies): () => LabCopies {
    try {
      const copies = copy()
      return () => copies
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const problems = error.detail.map(({ msg }) => msg)
      this.#options.log.error(
        { problems },
        'creations are refused: a Secret or ConfigMap that labs need is missing or unusable',
      )
      return () => {
        throw error
      }
    }
  }
}
