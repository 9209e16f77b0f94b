/**
 * Reads what labs are given of the controller's own namespace (SQR-066, "Secrets"), at acceptance: what is missing is
 * told before anything is accepted, and what was read goes sealed into the plan.
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
  /** The controller's own. */
  readonly namespace: string
  readonly kube: Pick<ClusterClient, 'get'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Of one reading, with all that is tried again. */
  readonly timeoutMs: number
}

/** How long what was read serves others too: creations come in bursts. That something is missing counts as read. */
const freshMs = 5_000

/** One of them serves a whole process. */
export class Sources {
  readonly #options: SourcesOptions
  readonly #names: ReturnType<typeof copiedNames>
  /** `give` throws what is wrong with what was read. */
  #kept: { readonly atMs: number; readonly give: () => LabCopies } | undefined
  #reading: Promise<LabCopies> | undefined

  constructor(options: SourcesOptions) {
    this.#options = options
    this.#names = copiedNames(options.lab)
  }

  /**
   * What stood there 5 seconds ago at most; who asks while somebody is reading waits for that.
   * @param span in which the requests are told, where it is this call that makes them
   * @throws {ApiError} 500 in words for an administrator, when something is missing, incomplete or too large
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
      this.#options.log.warn({ reason: passing.message }, 'creations are put off: what labs are given cannot be read')
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

  /** A refusal is no absence, but it does not pass by itself either. */
  async #find(kind: string, name: string, call: { signal: AbortSignal; span: Span }): Promise<FoundObject> {
    const { kube, namespace, log } = this.#options
    try {
      return await kube.get({ apiVersion: 'v1', kind, namespace, name }, call)
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      log.error({ kind, name, namespace, reason: error.message }, 'what labs are given may not be read')
      return 'may not be read by the controller: apply what `skylab rights` prints'
    }
  }

  /** The outcome, to be given to many, and told to operators once. */
  #once(copy: () => LabCopies): () => LabCopies {
    try {
      const copies = copy()
      return () => copies
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const problems = error.detail.map(({ msg }) => msg)
      this.#options.log.error({ problems }, 'creations are refused: what labs are given is not there')
      return () => {
        throw error
      }
    }
  }
}
