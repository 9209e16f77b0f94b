/**
 * Checks by dry runs whether the API server enforces the policies of `k8s/base/policy.yaml`, and whether these admit the
 * labs of this configuration. The policies refuse late writes, and writes by a thief of our token.
 */
import type { Clock } from '../../base/clock.ts'
import { unavailable } from '../../base/errors.ts'
import { applyRbac, type CallOptions, inOperatorsWords, type KubeError, type Log } from '../../kube/client.ts'
import { collectionPath, objectPath } from '../../kube/kinds.ts'
import { labels } from '../../kube/labels.ts'
import {
  answerTo,
  looseIn,
  type PolicyAnswer,
  type Probe,
  resultOf,
  withoutRights,
} from '../../kube/policies/probes.ts'
import { AdmissionWatch, isWithoutRights, listed, missingMs, type PolicyWords } from '../../kube/policies/watch.ts'
import { type MissingRights, missingOfController } from '../../labs/controller-rights.ts'
import {
  accountName,
  goesByCpu,
  labRights,
  missingRights,
  type RightsConfig,
  type RightsRule,
} from '../../labs/rights.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
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

/**
 * Tests each policy with a request that it must refuse, and then a request that must pass.
 * @throws {RetryLater} when the API server does not answer
 */
export async function askForPolicy(question: PolicyQuestion): Promise<PolicyAnswer> {
  const probing = probes(question).map(resultOf)
  const [account, granted, own, ...answers] = await Promise.all([
    question.kube.account({ agent: 'policy', signal: question.signal }),
    grantedRights(question),
    answerTo(() => makeOwn(question)),
    ...probing,
  ])
  const { idle } = question.config
  const { forLabs, others } = granted
    ? missingOfController(granted, { stamps: idle.enabled, cpu: goesByCpu(idle) })
    : nothingMissing
  const missing = [...forLabs, ...others]
  const lacking = withoutRights([own, ...answers])
  if (forLabs.length > 0)
    return { active: null, missing, reason: `${account} may not ${listed(forLabs)}: ${applyRbac}` }
  if (lacking) return { active: null, missing, reason: lacking }
  const why = looseIn(answers, `${account}${outsider(account)}`)
  if (why) return { active: false, missing, reason: why }
  return { active: true, missing, reason: whyRefused(question, own, granted) }
}

const outsider = (account: string): string =>
  account.startsWith('system:serviceaccount:') && account.endsWith(`:${accountName}`)
    ? ''
    : `, whom the policy does not concern: it knows ServiceAccounts called ${accountName}`

const nothingMissing: MissingRights = { forLabs: [], others: [] }

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

const words: PolicyWords = {
  unknown: 'an answer about the admission policy',
  notActive: 'the admission policy is not at work: apply k8s/base/policy.yaml',
  active: 'the admission policy is at work',
  refuses: 'the admission policy refuses the labs of this configuration',
  later: 'the admission policy is asked for later',
  remedy: applyRbac,
}

/** Checks the policies of labs. */
export class PolicyWatch extends AdmissionWatch {
  constructor({ kube, config, namespace, metrics, onRightsBack, ...common }: PolicyWatchOptions) {
    super({
      ...common,
      words,
      ask: signal => askForPolicy({ kube, config, namespace, signal }),
      onAnswer: (answer, before) => {
        if (answer.active !== null) metrics.admissionPolicyActive.set(answer.active ? 1 : 0)
        metrics.kubernetesRightsMissing.set(answer.missing.length)
        if (before && isWithoutRights(before) && !isWithoutRights(answer)) onRightsBack?.()
      },
    })
  }

  /** @throws {ApiError} 503 with the reason, when no lab may be created */
  require(): void {
    const { refusal } = this
    if (refusal !== undefined) throw unavailable(refusal, missingMs / 1000)
  }
}
