/** Asks whether the admission policy of apps is in force: without it nothing is made. */
import { appPolicy, appProbe } from '../../apps/probe.ts'
import type { KubeClient } from '../../kube/client.ts'
import { looseIn, type PolicyAnswer, resultOf, withoutRights } from '../../kube/policies/probes.ts'
import { wordsOfPolicy } from '../../kube/policies/watch.ts'

export const policyWords = wordsOfPolicy('apps', 'k8s/components/apps')

/** @throws {RetryLater} when the API server does not answer */
export async function askForAppPolicy(
  kube: Pick<KubeClient, 'account' | 'create'>,
  ownNamespace: string,
  signal: AbortSignal,
): Promise<PolicyAnswer> {
  const call = { agent: 'policy', signal }
  const ask = () => kube.create(appProbe(ownNamespace), { ...call, dryRun: true })
  const probe = { policy: appPolicy, ask, accepted: 'a Deployment of nobody in the namespace of the controller' }
  const [account, result] = await Promise.all([kube.account(call), resultOf(probe)])
  const lacking = withoutRights([result])
  if (lacking !== undefined) return { active: null, reason: lacking, missing: [] }
  const problem = looseIn([result], account)
  return { active: problem === undefined, reason: problem ?? null, missing: [] }
}
