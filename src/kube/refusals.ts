/** Who refused a request, and what an operator applies against that. Pure. */
import { KubeError } from './errors.ts'

/** `rights`: RBAC, or another authorizer. `policy`: a ValidatingAdmissionPolicy. `other`: a quota, a webhook and the like. */
export type Refuser = 'rights' | 'policy' | 'other'
export const refusers: readonly Refuser[] = ['rights', 'policy', 'other']

/** Every authorizer says no in these words. They name the account first. */
const byRights = /\bUser "([^"]*)" cannot (\w+) /
const byPolicy = /\bValidatingAdmissionPolicy '([^']*)' with binding /

/** Null for what is no refusal (403). */
export function refuserOf(error: unknown): Refuser | null {
  if (!(error instanceof KubeError) || error.status !== 403) return null
  if (byPolicy.test(error.message)) return 'policy'
  return byRights.test(error.message) ? 'rights' : 'other'
}

/** The roles, and what binds the account to them. */
export const applyRbac = 'apply k8s/base/rbac.yaml, and rights.yaml as `skylab rights` prints it'
const applyRights = 'apply rights.yaml, as `skylab rights` prints it'
const applyPolicy = 'apply k8s/base/policy.yaml'

/** What puts a refusal right; undefined where nothing of ours does. @param namespace the controller's own */
export function remedyOf(error: unknown, namespace?: string): string | undefined {
  const refuser = refuserOf(error)
  const { message } = error as KubeError
  // What the controller reads in its own namespace follows from the configuration.
  const isOwn = namespace !== undefined && message.includes(`in the namespace "${namespace}"`)
  if (refuser === 'rights') {
    return isOwn && /cannot get resource "(secrets|configmaps)"/.test(message) ? applyRights : applyRbac
  }
  if (refuser !== 'policy') return undefined
  const [, policy] = byPolicy.exec(message)!
  if (policy === 'skylab-reserved') return applyRbac
  if (policy === 'skylab-labs' || message.includes('does not own the installation')) return applyRights
  return policy === 'skylab' ? applyPolicy : undefined
}

/** A failure in words for an operator: with what puts it right, where it is a refusal. */
export function inOperatorsWords(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error)
  const remedy = remedyOf(error)
  return remedy === undefined ? words : `${words}: ${remedy}`
}
