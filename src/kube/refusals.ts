/** Finds which part of the cluster refused a request, and the remedy for an operator. Pure. */
import { KubeError } from './errors.ts'

/**
 * `rights`: RBAC, or another authorizer. `policy`: a ValidatingAdmissionPolicy. `other`: a quota, a webhook and the
 * like.
 */
export type Refuser = 'rights' | 'policy' | 'other'
export const refusers: readonly Refuser[] = ['rights', 'policy', 'other']

/** Every authorizer refuses in these words. They name the account first. */
const byRights = /\bUser "([^"]*)" cannot (\w+) /
const byPolicy = /\bValidatingAdmissionPolicy '([^']*)' with binding /

/** Null for an error that is not a refusal (403). */
export function refuserOf(error: unknown): Refuser | null {
  if (!(error instanceof KubeError) || error.status !== 403) return null
  if (byPolicy.test(error.message)) return 'policy'
  return byRights.test(error.message) ? 'rights' : 'other'
}

/** The roles, and their bindings to the account. */
export const applyRbac = 'apply k8s/base/rbac.yaml, and rights.yaml as `skylab rights` prints it'
const applyRights = 'apply rights.yaml, as `skylab rights` prints it'
const applyPolicy = 'apply k8s/base/policy.yaml'
const applyTenants = 'apply k8s/components/tenants'
const applyNotebooks = 'apply k8s/components/notebooks'
const applyApps = 'apply k8s/components/apps'

/** The remedy for a refusal; undefined if we have none. @param namespace the controller's own */
export function remedyOf(error: unknown, namespace?: string): string | undefined {
  const refuser = refuserOf(error)
  const { message } = error as KubeError
  // Rights to read in the controller's own namespace follow from the configuration.
  const isOwn = namespace !== undefined && message.includes(`in the namespace "${namespace}"`)
  if (refuser === 'rights') {
    // Accounts beside that of labs have another role, whatever their namespace is.
    const account = byRights.exec(message)![1]!
    if (account.endsWith(':skylab-tenants')) return applyTenants
    if (account.endsWith(':skylab-notebooks')) return applyNotebooks
    if (account.endsWith(':skylab-apps')) return applyApps
    return isOwn && /cannot get resource "(secrets|configmaps)"/.test(message) ? applyRights : applyRbac
  }
  if (refuser !== 'policy') return undefined
  const [, policy] = byPolicy.exec(message)!
  if (policy === 'skylab-reserved') return applyRbac
  if (policy === 'skylab-notebooks') return applyNotebooks
  if (policy === 'skylab-apps') return applyApps
  if (policy === 'skylab-labs' || message.includes('does not own the installation')) return applyRights
  return policy === 'skylab' ? applyPolicy : undefined
}

/** A failure as a message for an operator, with the remedy if it is a refusal. */
export function inOperatorsWords(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error)
  const remedy = remedyOf(error)
  return remedy === undefined ? words : `${words}: ${remedy}`
}
