/**
 * Whether the API server has the policy of `k8s/base/policy.yaml` at work, which refuses late writes before they are there.
 * Asked by a write that it must refuse, and that would change nothing if it did not. Labs are as safe as ever without it:
 * what comes too late is then removed, instead of never being seen.
 */
import type { Clock } from '../clock.ts'
import { KubeError, type Log } from '../kube/client.ts'
import { labels } from '../labs/names.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ClusterClient } from './cluster.ts'

/** Of the policy and its binding. */
const policyName = 'skylab'

/** Whose late write it might be: the namespace stands in every cluster, and is no lab. */
const lateWrite = (installation: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'skylab-policy-probe',
    namespace: 'default',
    labels: { [labels.installation]: installation, [labels.op]: '1' },
  },
})

export interface PolicyQuestion {
  readonly kube: Pick<ClusterClient, 'create'>
  readonly installation: string
  readonly signal?: AbortSignal | undefined
}

/**
 * `null` where the policy is at work, otherwise what the API server answered in its place.
 * @throws {RetryLater} when it does not answer for now
 */
export async function askForPolicy({ kube, installation, signal }: PolicyQuestion): Promise<string | null> {
  try {
    await kube.create(lateWrite(installation), { dryRun: true, agent: 'policy', signal })
    return 'a write into a namespace that is no lab was accepted'
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    // Rights, quotas and policies of others refuse with the same status.
    const byPolicy = error.status === 403 && error.message.includes(`ValidatingAdmissionPolicy '${policyName}'`)
    return byPolicy ? null : error.message
  }
}

export interface PolicyWatchOptions extends Omit<PolicyQuestion, 'signal'> {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly intervalMs: number
}

/** Asks again and again, and tells what changed. */
export class PolicyWatch {
  readonly #options: PolicyWatchOptions
  readonly #closed = new AbortController()
  #loop: Promise<void> | undefined
  #missing: boolean | undefined

  constructor(options: PolicyWatchOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop = this.#askForever()
  }

  async stop(): Promise<void> {
    this.#closed.abort()
    await this.#loop
  }

  async #askForever(): Promise<void> {
    const { clock, intervalMs, log } = this.#options
    const { signal } = this.#closed
    while (!signal.aborted) {
      await this.#ask().catch(error => {
        if (!signal.aborted) log.debug({ reason: (error as Error).message }, 'the admission policy is asked for later')
      })
      await clock.sleep(intervalMs * (0.9 + Math.random() * 0.2), signal).catch(() => {})
    }
  }

  async #ask(): Promise<void> {
    const { log, metrics } = this.#options
    const reason = await askForPolicy({ ...this.#options, signal: this.#closed.signal })
    metrics.admissionPolicyActive.set(reason === null ? 1 : 0)
    if (this.#missing === (reason !== null)) return
    this.#missing = reason !== null
    if (this.#missing) log.warn({ reason }, 'the admission policy is not at work: apply k8s/base/policy.yaml')
    else log.info({}, 'the admission policy is at work')
  }
}
