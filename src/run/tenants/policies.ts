/** Asks whether the admission policies of tenants are in force: without all of them nothing is granted or loosened. */
import type { CallOptions, KubeClient } from '../../kube/client.ts'
import { looseIn, type PolicyAnswer, resultOf, withoutRights } from '../../kube/policies/probes.ts'
import type { PolicyWords } from '../../kube/policies/watch.ts'
import { admissionVersion, guardProblem, guards, tenantProbes } from '../../tenants/probes.ts'
import { isServedElsewhere, settingsProblem, settingsRole } from '../../tenants/settings.ts'
import type { TenantSettings } from '../../tenants/spec.ts'
import { rbacVersion } from '../../tenants/words.ts'

const file = 'k8s/components/tenants'

export const policyWords: PolicyWords = {
  unknown: 'an answer about the admission policies of tenants',
  notActive: `the admission policies of tenants are not at work: apply ${file}`,
  active: 'the admission policies of tenants are at work',
  refuses: 'the admission policies of tenants have other settings than the configuration',
  later: 'the admission policies of tenants are asked for later',
  remedy: `apply ${file}`,
}

export interface TenantPolicyAnswer extends PolicyAnswer {
  /** True if another installation serves the tenants of this cluster. */
  readonly elsewhere?: true
}

/**
 * Whether all policies are in force, and by the settings of this configuration.
 * @throws {RetryLater} when the API server does not answer
 */
export async function askForTenantPolicies(
  kube: Pick<KubeClient, 'account' | 'create' | 'get'>,
  settings: TenantSettings,
  signal: AbortSignal,
): Promise<TenantPolicyAnswer> {
  const call = { agent: 'policy', signal }
  const probes = tenantProbes(settings.installation).map(({ policy, object, accepted }) => ({
    ...{ policy, accepted },
    ask: () => kube.create(object, { ...call, dryRun: true }),
  }))
  const [account, ...results] = await Promise.all([kube.account(call), ...probes.map(resultOf)])
  const [role, ...reading] = await Promise.allSettled([
    kube.get({ apiVersion: rbacVersion, kind: 'ClusterRole', name: settingsRole }, call),
    ...guards.map(name => readGuard(kube, name, call)),
  ])
  const failed = [role, ...reading].find(outcome => outcome.status === 'rejected')
  const lacking = withoutRights([...results, failed?.reason])
  if (lacking !== undefined) return { active: null, reason: lacking, missing: [] }
  if (failed) throw failed.reason
  const settled = <T>(outcome: PromiseSettledResult<T>) => (outcome.status === 'fulfilled' ? outcome.value : undefined)
  const found = settled(role) ?? null
  const problem = looseIn(results, account) ?? reading.map(settled).find(each => each !== undefined)
  const reason = problem ?? settingsProblem(settings, found) ?? null
  const elsewhere = isServedElsewhere(settings, found) && ({ elsewhere: true } as const)
  return { active: problem === undefined, reason, missing: [], ...elsewhere }
}

/** @returns why it does not guard; undefined if it does */
async function readGuard(kube: Pick<KubeClient, 'get'>, name: string, call: CallOptions): Promise<string | undefined> {
  const read = (kind: string) => kube.get({ apiVersion: admissionVersion, kind, name }, call)
  const [policy, binding] = await Promise.all([
    read('ValidatingAdmissionPolicy'),
    read('ValidatingAdmissionPolicyBinding'),
  ])
  return guardProblem(name, policy, binding)
}
