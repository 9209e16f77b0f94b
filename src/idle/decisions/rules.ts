/** Finds the rule for a workload: the first that matches. Pure. */
import { globs } from '../../base/glob.ts'
import type { IdleRule, WorkloadKind } from '../../config/idle.ts'
import type { Traits } from '../workloads/workload.ts'

const matcher = globs()

/** @returns undefined if none matches: the workload is never stopped */
export function ruleOf(rules: readonly IdleRule[], kind: WorkloadKind, traits: Traits): IdleRule | undefined {
  return rules.find(({ match }) => matches(match, kind, traits))
}

/** All patterns that are given need to match. */
function matches(match: IdleRule['match'], kind: WorkloadKind, traits: Traits): boolean {
  if (match.kinds && !match.kinds.includes(kind)) return false
  const { size, image, user, tenant, namespace, groups = [] } = traits
  return (
    isOneOf(match.sizes, size) &&
    isOneOf(match.images, image) &&
    isOneOf(match.users, user) &&
    isOneOf(match.tenants, tenant) &&
    isOneOf(match.namespaces, namespace) &&
    (match.groups === undefined || groups.some(matcher(match.groups)))
  )
}

const isOneOf = (patterns: readonly string[] | undefined, text: string | undefined): boolean =>
  patterns === undefined || (text !== undefined && matcher(patterns)(text))
