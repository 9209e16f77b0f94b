/** Asks whether the admission policies of tenants are in force: without all of them nothing is granted or loosened. */
import type { CallOptions, KubeClient } from '../../kube/client.ts'
import { looseIn, type PolicyAnswer, resultOf, withoutRights } from '../../kube/policies/probes.ts'
import type { PolicyWords } from '../../kube/policies/watch.ts'
import { admissionVersion, guardProblem, guards, tenantProbes } from '../../tenants/probes.ts'
import { settingsProblem, settingsRole } from '../../tenants/settings.ts'
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

/**
 * Whether all policies are in force, and by the settings of this configuration.
 * @throws {RetryLater} when the API server does not answer
 */
export async function askForTenantPolicies(
  kube: Pick<KubeClient, 'account' | 'create' | 'get'>,
  settings: TenantSettings,
  signal: AbortSignal,
): Promise<PolicyAnswer> {
  const call = { agent: 'policy', signal }
  const probes = tenantProbes(settings.installation).map(({ policy, object, accepted }) => ({
    ...{ policy, accepted },
    ask: () => kube.create(object, { ...call, dryRun: true }),
  }))
  const [account, ...results] = await Promise.all([kube.account(call), ...probes.map(resultOf)])
  const [role, ...reading] = await Promise.allSettled([
    readSettings(kube, settings, call),
    ...guards.map(name => readGuard(kube, name, call)),
  ])
  const failed = [role, ...reading].find(outcome => outcome.status === 'rejected')
  const lacking = withoutRights([...results, failed?.reason])
  if (lacking !== undefined) return { active: null, reason: lacking, missing: [] }
  if (failed) throw failed.reason
  const problemOf = (outcome: PromiseSettledResult<string | undefined>) =>
    outcome.status === 'fulfilled' ? outcome.value : undefined
  const problem = looseIn(results, account) ?? reading.map(problemOf).find(each => each !== undefined)
  return { active: problem === undefined, reason: problem ?? problemOf(role) ?? null, missing: [] }
}

/** @returns how the settings of admission differ from ours; undefined if they do not */
async function readSettings(kube: Pick<KubeClient, 'get'>, settings: TenantSettings, call: CallOptions) {
  const role = await kube.get({ apiVersion: rbacVersion, kind: 'ClusterRole', name: settingsRole }, call)
  return settingsProblem(settings, role)
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
