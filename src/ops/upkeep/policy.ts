/**
 * Checks by dry runs whether the API server enforces the policies of `k8s/base/policy.yaml`, and whether these admit the
 * labs of this configuration. The policies refuse late writes, and writes by a thief of our token.
 */
import type { Clock } from '../../base/clock.ts'
import { unavailable } from '../../base/errors.ts'
import { jittered, Loop, type Rest } from '../../base/loop.ts'
import { applyRbac, type CallOptions, inOperatorsWords, KubeError, type Log, refuserOf } from '../../kube/client.ts'
import { collectionPath, objectPath } from '../../kube/kinds.ts'
import { labels } from '../../kube/labels.ts'
import { type MissingRights, missingOfController } from '../../labs/controller-rights.ts'
import { accountName, labRights, missingRights, type RightsConfig, type RightsRule } from '../../labs/rights.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import type { ClusterClient } from '../cluster.ts'

/** Names of the policies; each binding has the same name. */
const latePolicy = 'skylab'
const labsPolicy = 'skylab-labs'

export interface PolicyQuestion {
  readonly kube: Pick<ClusterClient, 'account' | 'create' | 'request'>
  readonly config: RightsConfig
  /** The controller's own namespace. */
  readonly namespace: string
  readonly signal?: AbortSignal | undefined
}

/** The result of a check. */
export interface PolicyAnswer {
  /** True if all policies are enforced; null if the account lacks the rights to find out. */
  readonly active: boolean | null
  /** Why they are not, or why labs of this configuration would be refused; null if all is well. */
  readonly reason: string | null
  /** Rights of `k8s/base/rbac.yaml` that the account lacks, in words; empty if the API server does not list rights. */
  readonly missing: readonly string[]
}

/**
 * Tests each policy with a request that it must refuse, and then a request that must pass.
 * @throws {RetryLater} when the API server does not answer
 */
export async function askForPolicy(question: PolicyQuestion): Promise<PolicyAnswer> {
  const probing = probes(question).map(async ({ policy, ask, accepted }) => {
    const answer = await answerTo(ask)
    return isRefusedBy(answer, policy) ? null : (answer ?? accepted)
  })
  const [account, granted, own, ...answers] = await Promise.all([
    question.kube.account({ agent: 'policy', signal: question.signal }),
    grantedRights(question),
    answerTo(() => makeOwn(question)),
    ...probing,
  ])
  const { forLabs, others } = granted ? missingOfController(granted) : nothingMissing
  const missing = [...forLabs, ...others]
  // An account without rights is refused before any policy is evaluated.
  const withoutRight = [own, ...answers].find(answer => refuserOf(answer) === 'rights')
  if (forLabs.length > 0)
    return { active: null, missing, reason: `${account} may not ${listed(forLabs)}: ${applyRbac}` }
  if (withoutRight) return { active: null, missing, reason: inOperatorsWords(withoutRight) }
  const loose = answers.find(answer => answer !== null)
  const why =
    loose instanceof Error ? loose.message : loose && `${loose} was accepted from ${account}${outsider(account)}`
  if (why) return { active: false, missing, reason: why }
  return { active: true, missing, reason: whyRefused(question, own, granted) }
}

const outsider = (account: string): string =>
  account.startsWith('system:serviceaccount:') && account.endsWith(`:${accountName}`)
    ? ''
    : `, whom the policy does not concern: it knows ServiceAccounts called ${accountName}`

const nothingMissing: MissingRights = { forLabs: [], others: [] }

/** Lists at most `maxListed` rights: when all are missing the list would be very long. */
const listed = (rights: readonly string[]): string =>
  rights.length > maxListed
    ? `${rights.slice(0, maxListed).join(', ')} and ${rights.length - maxListed} more`
    : rights.join(', ')
const maxListed = 8

interface Probe {
  readonly policy: string
  readonly ask: () => Promise<unknown>
  readonly accepted: string
}

/** Each probe is refused by exactly one policy. */
function probes(question: PolicyQuestion): readonly Probe[] {
  const { kube, config, namespace } = question
  const call = callOf(question)
  // The controller's own namespace, which is not a lab's.
  const path = objectPath({ apiVersion: 'v1', kind: 'Namespace', name: namespace })
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] }
  // Its first letter differs from that of our namespaces.
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

/** Imitates a late write. Its namespace exists in every cluster, and is not a lab's. */
const lateWrite = (installation: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'skylab-policy-probe', namespace: 'default', labels: marksOf(installation) },
})

const namespaceCalled = (name: string, installation: string) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: marksOf(installation) },
})

/** Returns the refusal; undefined if the request was accepted. */
async function answerTo(ask: () => Promise<unknown>): Promise<KubeError | undefined> {
  try {
    await ask()
    return undefined
  } catch (error) {
    if (error instanceof KubeError) return error
    throw error
  }
}

/** Checks the message too: missing rights, quotas and other policies refuse with the same status. */
const isRefusedBy = (answer: KubeError | undefined, policy: string): boolean =>
  answer?.status === 403 && answer.message.includes(`ValidatingAdmissionPolicy '${policy}' `)

/** Sends the first request of a creation, with a name that no user has. */
function makeOwn(question: PolicyQuestion): Promise<unknown> {
  const { kube, config } = question
  const own = `${config.lab.namespacePrefix}-skylab-policy-probe`
  return kube.create(namespaceCalled(own, config.installation), callOf(question))
}

/** Why labs of this configuration would be refused, in words; null if they pass. */
function whyRefused({ config }: PolicyQuestion, own: KubeError | undefined, granted: readonly RightsRule[] | null) {
  // 409: a user of that name has a lab.
  if (own && own.status !== 409) return `labs of this configuration are refused: ${inOperatorsWords(own)}`
  const missing = granted ? missingRights(labRights(config), granted) : []
  if (missing.length === 0) return null
  return `labs of this configuration may not: ${missing.join(', ')}; apply what \`skylab rights\` prints`
}

/** The rights of the account in the controller's own namespace; null if they cannot be listed completely. */
async function grantedRights({ kube, namespace, signal }: PolicyQuestion): Promise<readonly RightsRule[] | null> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } }
  const path = collectionPath(review.apiVersion, review.kind)
  const { status } = (await kube.request('POST', path, review, { agent: 'policy', signal })) as RulesReview
  // An authorizer that does not list rights may grant them nevertheless.
  return status.incomplete ? null : status.resourceRules
}

interface RulesReview {
  readonly status: { readonly incomplete: boolean; readonly resourceRules: readonly RightsRule[] }
}

export interface PolicyWatchOptions extends Omit<PolicyQuestion, 'signal'> {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<Metrics, 'admissionPolicyActive' | 'kubernetesRightsMissing'>
  readonly intervalMs: number
  /** True if labs must not be created without the policies. */
  readonly required: boolean
  /** Called when missing rights have been granted again. */
  readonly onRightsBack?: () => void
}

/** The pause between checks while something required is missing. */
const missingMs = 2_000
/** The interval varies by this share, so that replicas do not ask in step. */
const jitter = 0.1

/** Checks the policies on an interval, and logs changes. */
export class PolicyWatch {
  readonly #options: PolicyWatchOptions
  readonly #loop: Loop
  readonly #lacking: Rarely
  #askedMs = Number.NEGATIVE_INFINITY
  #answer: PolicyAnswer | undefined

  constructor(options: PolicyWatchOptions) {
    const { clock, log } = options
    this.#options = options
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      failed: error => {
        log.debug({ reason: (error as Error).message }, 'the admission policy is asked for later')
        return this.#rest()
      },
    })
    this.#lacking = new Rarely({ ...options, trouble: 'rights are missing', over: 'no right is missing any more' })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Checks soon, after a request was refused for a missing right, unless a check was just made. */
  wake(): void {
    if (this.#options.clock.monotonicMs() - this.#askedMs >= missingMs) this.#loop.wake()
  }

  /** Why no lab may be created now, in words; undefined if nothing prevents it. */
  get refusal(): string | undefined {
    if (!this.#options.required) return undefined
    if (this.#answer === undefined) return 'an answer about the admission policy'
    return this.#answer.reason === null ? undefined : words(this.#answer)
  }

  /** Rights of `k8s/base/rbac.yaml` that the account lacked at the last check, in words. */
  get lacking(): readonly string[] {
    return this.#answer?.missing ?? []
  }

  /** @throws {ApiError} 503 with the reason, when no lab may be created */
  require(): void {
    const { refusal } = this
    if (refusal !== undefined) throw unavailable(refusal, missingMs / 1000)
  }

  #rest(): Rest {
    const { intervalMs } = this.#options
    const isWell = this.refusal === undefined && this.lacking.length === 0
    return { ms: jittered(isWell ? intervalMs : Math.min(missingMs, intervalMs), jitter) }
  }

  async #round(): Promise<Rest> {
    const { clock, metrics, onRightsBack } = this.#options
    this.#askedMs = clock.monotonicMs()
    const answer = await askForPolicy({ ...this.#options, signal: this.#loop.signal })
    const before = this.#answer
    this.#answer = answer
    if (answer.active !== null) metrics.admissionPolicyActive.set(answer.active ? 1 : 0)
    metrics.kubernetesRightsMissing.set(answer.missing.length)
    if (isWithoutRights(answer))
      this.#lacking.failed(lackingWords(answer), { missing: answer.missing, remedy: applyRbac })
    else this.#lacking.worked()
    if (before && isWithoutRights(before) && !isWithoutRights(answer)) onRightsBack?.()
    this.#report(answer, before)
    return this.#rest()
  }

  #report(answer: PolicyAnswer, before: PolicyAnswer | undefined): void {
    const { log } = this.#options
    const { active, reason } = answer
    // Without the rights the state of the policies is unknown.
    if (active === null) return
    if (before && before.active === active && (before.reason === null) === (reason === null)) return
    if (!active) log.warn({ reason }, notActive)
    else if (reason !== null) log.error({ reason }, 'the admission policy refuses the labs of this configuration')
    else log.info({}, 'the admission policy is at work')
  }
}

const notActive = 'the admission policy is not at work: apply k8s/base/policy.yaml'

const isWithoutRights = ({ active, missing }: PolicyAnswer): boolean => active === null || missing.length > 0

const lackingWords = ({ active, reason, missing }: PolicyAnswer): string =>
  active === null ? `${reason}` : `${listed(missing)}: ${applyRbac}`

const words = ({ active, reason }: PolicyAnswer): string =>
  active === false ? `${notActive} (${reason})` : `${reason}`
