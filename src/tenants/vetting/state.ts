/**
 * What a Kubernetes version gives to the users of tenants: its kinds of objects, and what the roles that they get may do with
 * them. Pure. Seed 004, "User RBAC": permissions are vetted for every version.
 */
import { z } from 'zod'
import { asObject, asObjects, asOptionalText, type JsonObject } from '../../base/json.ts'

/** `admin` is what users of a tenant get, and holds the others; the last is what everybody gets. */
export const vettedRoles = ['admin', 'edit', 'view', 'skylab:authenticated'] as const
export type VettedRole = (typeof vettedRoles)[number]

/** Lists are texts, their items sorted and parted by a blank: the file is read as a diff. */
const texts = z.record(z.string().max(512), z.string().max(4_096))
const role = z.strictObject({
  from: z.array(z.string().max(256)).describe('ClusterRoles that are aggregated into it'),
  rights: texts.describe('verbs by resource'),
})
export const vettedState = z.strictObject({
  kubernetes: z.string().regex(/^\d+\.\d+$/),
  resources: texts.describe('scope and verbs by resource and version'),
  roles: z.record(z.enum(vettedRoles), role),
})
export type VettedState = z.infer<typeof vettedState>

/** Answers of the API server. */
export interface ClusterAnswers {
  /** Of `/version`. */
  readonly version: unknown
  /** Of `/api` and `/apis`, as lists of discovery. */
  readonly groups: readonly unknown[]
  /** All ClusterRoles. */
  readonly clusterRoles: readonly JsonObject[]
}

/** @throws {Error} when an answer is not what an API server gives */
export function stateOf({ version, groups, clusterRoles }: ClusterAnswers): VettedState {
  const { major, minor } = asObject(version)
  const kubernetes = `${major}.${minor}`.replace(/[^\d.]/g, '')
  if (!/^\d+\.\d+$/.test(kubernetes)) throw new Error('the API server does not say its version')
  const entries = vettedRoles.map((name): [VettedRole, VettedState['roles'][VettedRole]] => [
    name,
    { from: sourcesOf(name, clusterRoles), rights: rightsOf(clusterRoles.find(each => nameOf(each) === name)) },
  ])
  return {
    kubernetes,
    resources: sorted(groups.flatMap(list => asObjects(asObject(list).items)).flatMap(resourcesOf)),
    roles: Object.fromEntries(entries) as VettedState['roles'],
  }
}

function resourcesOf(group: JsonObject): [string, string][] {
  const name = asOptionalText(asObject(group.metadata).name) ?? ''
  return asObjects(group.versions).flatMap(({ version, resources }) =>
    asObjects(resources).flatMap(({ resource, scope, verbs, subresources }): [string, string][] => {
      const place = `${name ? `.${name}` : ''}/${version}`
      const below = asObjects(subresources).map((each): [string, string] => [
        `${resource}/${each.subresource}${place}`,
        wordsOf(each.verbs).join(' '),
      ])
      return [[`${resource}${place}`, [String(scope), ...wordsOf(verbs)].join(' ')], ...below]
    }),
  )
}

function sourcesOf(role: VettedRole, clusterRoles: readonly JsonObject[]): string[] {
  const label = `rbac.authorization.k8s.io/aggregate-to-${role.replace('skylab:', '')}`
  const isSource = (each: JsonObject) => asObject(asObject(each.metadata).labels)[label] === 'true'
  return clusterRoles.filter(isSource).map(nameOf).sort()
}

/** The rights of a role by resource, however its rules divide them. */
export function rightsOf(clusterRole: JsonObject | undefined): Record<string, string> {
  const rights = new Map<string, Set<string>>()
  for (const rule of asObjects(clusterRole?.rules)) {
    const verbs = wordsOf(rule.verbs)
    for (const place of placesOf(rule)) rights.set(place, new Set([...(rights.get(place) ?? []), ...verbs]))
  }
  return sorted([...rights].map(([place, verbs]) => [place, [...verbs].sort().join(' ')]))
}

function placesOf(rule: JsonObject): string[] {
  const names = wordsOf(rule.resourceNames)
  const named = (place: string) => (names.length === 0 ? [place] : names.map(name => `${place} ${name}`))
  const resources = wordsOf(rule.resources)
  const inGroups = wordsOf(rule.apiGroups).flatMap(group =>
    resources.map(resource => (group === '' ? resource : `${resource}.${group}`)),
  )
  return [...inGroups.flatMap(named), ...wordsOf(rule.nonResourceURLs).map(url => `url ${url}`)]
}

const nameOf = (object: JsonObject): string => asOptionalText(asObject(object.metadata).name) ?? ''
const wordsOf = (list: unknown): string[] => (Array.isArray(list) ? list : []).map(each => String(each)).sort()
const sorted = (entries: readonly (readonly [string, string])[]): Record<string, string> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))
