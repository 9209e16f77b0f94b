/**
 * Asks whether the admission policy of notebooks is in force: by changes that it must refuse, as dry runs. The account may make
 * nothing, so an object that the watches show is asked about: while there is none, nothing can be changed either.
 */
import { RetryLater } from '../../base/errors.ts'
import { notebookKind, type OwnerFacts, setKind } from '../../idle/notebooks/objects.ts'
import type { CallOptions, KubeClient } from '../../kube/client.ts'
import { KubeError } from '../../kube/client.ts'
import { looseIn, type PolicyAnswer, resultOf, withoutRights } from '../../kube/policies/probes.ts'
import { wordsOfPolicy } from '../../kube/policies/watch.ts'

/** The policy, and its binding. */
const policy = 'skylab-notebooks'

export const policyWords = wordsOfPolicy('notebooks', 'k8s/components/notebooks')

type Subject = Pick<OwnerFacts, 'namespace' | 'name' | 'uid' | 'deleting'>

/** What the watches show. */
export interface PolicySubjects {
  readonly notebooks: { values(): Iterable<Subject> }
  readonly statefulSets: { values(): Iterable<Subject> }
}

/** The policy bounds both, and either of its rules may be gone. */
const bounded = [
  ['a label of a notebook', notebookKind, 'notebooks'],
  ['a label of a StatefulSet', setKind, 'statefulSets'],
] as const

/** One of each kind that can be asked about. */
const subjectsOf = (watches: PolicySubjects) =>
  bounded.flatMap(([accepted, kind, of]) => {
    for (const subject of watches[of].values()) if (!subject.deleting) return [{ accepted, kind, subject }]
    return []
  })

export const hasSubjects = (watches: PolicySubjects): boolean => subjectsOf(watches).length > 0

/** @throws {RetryLater} when the API server does not answer, or there is nothing that can be asked about */
export async function askForNotebookPolicy(
  kube: Pick<KubeClient, 'account' | 'patch'>,
  watches: PolicySubjects,
  signal: AbortSignal,
): Promise<PolicyAnswer> {
  const call = { agent: 'policy', signal }
  const subjects = subjectsOf(watches)
  if (subjects.length === 0) throw new RetryLater('there is no notebook and no StatefulSet')
  const probes = subjects.map(({ accepted, kind, subject }) => ({
    ...{ policy, accepted },
    ask: () => relabel(kube, { ...kind, ...subject }, call),
  }))
  const [account, ...results] = await Promise.all([kube.account(call), ...probes.map(resultOf)])
  const lacking = withoutRights(results)
  if (lacking !== undefined) return { active: null, reason: lacking, missing: [] }
  const reason = looseIn(results, account) ?? null
  return { active: reason === null, reason, missing: [] }
}

type Identity = Parameters<KubeClient['patch']>[0]

/** @throws {RetryLater} when it is another object by now, or none */
async function relabel(
  kube: Pick<KubeClient, 'patch'>,
  { apiVersion, kind, namespace, name, uid }: Identity,
  call: CallOptions,
): Promise<void> {
  const patch = { metadata: { labels: { 'policy-probe': 'notebooks' } } }
  const gone = `there is no ${kind} ${namespace}/${name} any more`
  try {
    const ref = { apiVersion, kind, namespace, name, uid }
    const changed = await kube.patch(ref as Identity, patch, { ...call, dryRun: true })
    if (changed === null) throw new RetryLater(gone)
  } catch (error) {
    if (error instanceof KubeError && (error.status === 409 || error.status === 422)) throw new RetryLater(gone)
    throw error
  }
}
