/**
 * Whether the API server has the policies of `k8s/base/policy.yaml` at work, which refuse late writes and what a thief of
 * our token would send; and whether they let the labs of this configuration pass. Asked by dry runs that change nothing.
 */
import type { Clock } from '../clock.ts'
import { unavailable } from '../errors.ts'
import { type CallOptions, KubeError, type Log } from '../kube/client.ts'
import { collectionPath, objectPath } from '../kube/kinds.ts'
import { labels } from '../labs/names.ts'
import { labRights, missingRights, type RightsConfig, type RightsRule } from '../labs/rights.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ClusterClient } from './cluster.ts'

/** Of each policy and its binding. */
const latePolicy = 'skylab'
const labsPolicy = 'skylab-labs'

export interface PolicyQuestion {
  readonly kube: Pick<ClusterClient, 'create' | 'request'>
  readonly config: RightsConfig
  /** The controller's own. */
  readonly namespace: string
  readonly signal?: AbortSignal | undefined
}

/** What the API server showed. */
export interface PolicyAnswer {
  /** Whether all of the policies is at work. */
  readonly active: boolean
  /** Why not, or why labs of this configuration would be refused; null where all is well. */
  readonly reason: string | null
}

/**
 * Asks for each part by a request that it must refuse, and then whether what we make passes.
 * @throws {RetryLater} when the API server does not answer for now
 */
export async function askForPolicy(question: PolicyQuestion): Promise<PolicyAnswer> {
  const probing = probes(question).map(async ({ policy, ask, accepted }) => {
    const answer = await answerTo(ask)
    return isRefusedBy(answer, policy) ? null : (answer?.message ?? `${accepted} was accepted`)
  })
  const [refused, ...told] = await Promise.all([whyRefused(question), ...probing])
  const missing = told.find(reason => reason !== null)
  return missing === undefined ? { active: true, reason: refused } : { active: false, reason: missing }
}

interface Probe {
  readonly policy: string
  readonly ask: () => Promise<unknown>
  readonly accepted: string
}

/** Each is refused by one of the policies alone. */
function probes(question: PolicyQuestion): readonly Probe[] {
  const { kube, config, namespace } = question
  const call = callOf(question)
  // The controller's own, which is no lab's.
  const path = objectPath({ apiVersion: 'v1', kind: 'Namespace', name: namespace })
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] }
  // Begins with another letter than the names of our namespaces.
  const elsewhere = `${config.lab.namespacePrefix.startsWith('p') ? 'q' : 'p'}olicy-probe`
  return [
    {
      policy: latePolicy,
      ask: () => kube.create(lateWrite(config.installation), call),
      accepted: 'a write into a namespace that is no lab',
    },
    {
      policy: latePolicy,
      ask: () => kube.request('DELETE', path, options, call),
      accepted: 'a deletion of what is no lab’s',
    },
    {
      policy: labsPolicy,
      ask: () => kube.create(namespaceCalled(elsewhere, config.installation), call),
      accepted: 'a namespace of another name than those of labs',
    },
  ]
}

const callOf = ({ signal }: PolicyQuestion): CallOptions => ({ dryRun: true, agent: 'policy', signal })

const marksOf = (installation: string) => ({ [labels.installation]: installation, [labels.op]: '1' })

/** Whose late write it might be: the namespace stands in every cluster, and is no lab. */
const lateWrite = (installation: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'skylab-policy-probe', namespace: 'default', labels: marksOf(installation) },
})

const namespaceCalled = (name: string, installation: string) => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: marksOf(installation) } },
})

/** Undefined where it was accepted. */
async function answerTo(ask: () => Promise<unknown>): Promise<KubeError | undefined> {
  try {
    await ask()
    return undefined
  } catch (error) {
    if (error instanceof KubeError) return error
    throw error
  }
}

/** Rights, quotas and policies of others refuse with the same status. */
const isRefusedBy = (answer: KubeError | undefined, policy: string): boolean =>
  answer?.status === 403 && answer.message.includes(`ValidatingAdmissionPolicy '${policy}' `)

/** Why labs of this configuration would be refused, in words; null where they pass. */
async function whyRefused(question: PolicyQuestion): Promise<string | null> {
  const { kube, config } = question
  const own = `${config.lab.namespacePrefix}-skylab-policy-probe`
  const make = () => kube.create(namespaceCalled(own, config.installation), callOf(question))
  const [answer, missing] = await Promise.all([answerTo(make), missingGrants(question)])
  // 409: a user of that name has a lab.
  if (answer && answer.status !== 409) return `labs of this configuration are refused: ${answer.message}`
  if (missing.length === 0) return null
  return `labs of this configuration may not: ${missing.join(', ')}; apply what \`skylab rights\` prints`
}

/** What the configuration needs of the rights that the policies ask for, and the account does not have. */
async function missingGrants({ kube, config, namespace, signal }: PolicyQuestion): Promise<readonly string[]> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } }
  const path = collectionPath(review.apiVersion, review.kind)
  const { status } = (await kube.request('POST', path, review, { agent: 'policy', signal })) as RulesReview
  // An authorizer that lists no rights may grant them all the same.
  return status.incomplete ? [] : missingRights(labRights(config), status.resourceRules)
}

interface RulesReview {
  readonly status: { readonly incomplete: boolean; readonly resourceRules: readonly RightsRule[] }
}

export interface PolicyWatchOptions extends Omit<PolicyQuestion, 'signal'> {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly intervalMs: number
  /** Whether nothing is to be made without the policies. */
  readonly required: boolean
}

/** How soon it is asked again where something is missing that is required. */
const missingMs = 2_000

/** Asks again and again, and tells what changed. */
export class PolicyWatch {
  readonly #options: PolicyWatchOptions
  readonly #closed = new AbortController()
  #loop: Promise<void> | undefined
  #answer: PolicyAnswer | undefined

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

  /** Why nothing may be made, in words; undefined where nothing is in the way. */
  get refusal(): string | undefined {
    if (!this.#options.required) return undefined
    if (this.#answer === undefined) return 'an answer about the admission policy'
    return this.#answer.reason === null ? undefined : words(this.#answer)
  }

  /** @throws {ApiError} 503 in words, when nothing may be made */
  require(): void {
    const { refusal } = this
    if (refusal !== undefined) throw unavailable(refusal, missingMs / 1000)
  }

  async #askForever(): Promise<void> {
    const { clock, intervalMs, log } = this.#options
    const { signal } = this.#closed
    while (!signal.aborted) {
      await this.#ask().catch(error => {
        if (!signal.aborted) log.debug({ reason: (error as Error).message }, 'the admission policy is asked for later')
      })
      const pauseMs = this.refusal === undefined ? intervalMs : Math.min(missingMs, intervalMs)
      await clock.sleep(pauseMs * (0.9 + Math.random() * 0.2), signal).catch(() => {})
    }
  }

  async #ask(): Promise<void> {
    const { log, metrics } = this.#options
    const answer = await askForPolicy({ ...this.#options, signal: this.#closed.signal })
    const before = this.#answer
    this.#answer = answer
    metrics.admissionPolicyActive.set(answer.active ? 1 : 0)
    if (before && before.active === answer.active && (before.reason === null) === (answer.reason === null)) return
    const { reason } = answer
    if (!answer.active) log.warn({ reason }, notActive)
    else if (reason !== null) log.error({ reason }, 'the admission policy refuses the labs of this configuration')
    else log.info({}, 'the admission policy is at work')
  }
}

const notActive = 'the admission policy is not at work: apply k8s/base/policy.yaml'

const words = ({ active, reason }: PolicyAnswer): string => (active ? `${reason}` : `${notActive} (${reason})`)
