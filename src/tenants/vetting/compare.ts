/** Compares what a cluster gives with what somebody vetted. Pure. */
import { tenantGroup } from '../words.ts'
import { type VettedState, vettedRoles } from './state.ts'

export interface Difference {
  /** Such as `right of admin`. */
  readonly what: string
  readonly of: string
  /** Undefined: there was none. */
  readonly vetted?: string
  /** Undefined: there is none. */
  readonly found?: string
}

/** Differences, sorted. What this program brings may be absent: a cluster may have a part of it. */
export function compareStates(vetted: VettedState, found: VettedState): readonly Difference[] {
  const version =
    vetted.kubernetes === found.kubernetes
      ? []
      : [{ what: 'version', of: 'Kubernetes', vetted: vetted.kubernetes, found: found.kubernetes }]
  return [
    ...version,
    ...between('resource', vetted.resources, found.resources),
    ...vettedRoles.flatMap(role => {
      const [before, now] = [vetted.roles[role], found.roles[role]]
      return [
        ...between(`source of ${role}`, named(before.from), named(now.from)),
        ...between(`right of ${role}`, before.rights, now.rights),
      ]
    }),
  ]
}

/** Rights that no vetting allows: with them a user of a tenant leaves it. */
export function neverAllowed({ roles }: VettedState): readonly Difference[] {
  return vettedRoles.flatMap(role =>
    Object.entries(roles[role].rights).flatMap(([of, verbs]) => {
      const isBad = (verb: string) => isNever(of, verb) || (role === everybody && isNeverForAll(of, verb))
      const bad = verbs.split(' ').filter(isBad)
      return bad.length === 0 ? [] : [{ what: `right of ${role} that no vetting allows`, of, found: bad.join(' ') }]
    }),
  )
}

/** It is bound in the whole cluster. */
const everybody = 'skylab:authenticated'

function isNeverForAll(place: string, verb: string): boolean {
  if (/^secrets( |$)/.test(place)) return true
  return !['get', 'list', 'watch'].includes(verb) && !(place === `lnamespaces.${tenantGroup}` && verb === 'create')
}

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

function isNever(place: string, verb: string): boolean {
  if (verb === '*' || verb === 'escalate' || verb === 'bind') return true
  // Any resource, any of a group, any path.
  if (/^\*|\.\*( |$)|^url .*\*/.test(place)) return true
  return /^namespaces(\/\S*)?( |$)/.test(place) && writes.has(verb)
}

function between(
  what: string,
  vetted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>>,
): Difference[] {
  const names = [...new Set([...Object.keys(vetted), ...Object.keys(found)])].sort()
  return names.flatMap(of => {
    const [before, now] = [own(vetted, of), own(found, of)]
    if (before === now || (now === undefined && isOurs(of))) return []
    return [{ what, of, ...(before !== undefined && { vetted: before }), ...(now !== undefined && { found: now }) }]
  })
}

const own = (record: Readonly<Record<string, string>>, key: string) =>
  Object.hasOwn(record, key) ? record[key] : undefined
const named = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'aggregated']))
/** Of the resources of tenants and of apps. */
const isOurs = (of: string) => of.startsWith('skylab:') || ourGroup.test(of)
const ourGroup = new RegExp(
  `\\.(${[tenantGroup, 'primehub.io'].map(group => group.replaceAll('.', '\\.')).join('|')})(/| |$)`,
)
