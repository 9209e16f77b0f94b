/** The kind *tenant*: an LNamespace, by its name, with its namespace, what bounds it, and the rights of its people. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { keyOf } from '../kube/cache.ts'
import type { Change } from '../kube/picture.ts'
import { isAnothers } from '../reconcile/facts.ts'
import { refKey, refOf } from '../reconcile/plan.ts'
import type { Fact, Hold, Kind, Poke, Source, Verdict, Wanted } from '../reconcile/types.ts'
import { billingEffects, billingOf, isBilled } from './billing.ts'
import { firstEnd, grantsText, runningGrants } from './grants.ts'
import { developerName, editName, platformName, sudoerName, sudoName, tenantOfName, userOfName } from './names.ts'
import { belongsTo, isOwnedBy, withoutForeign } from './objects.ts'
import { platformObjects } from './platform.ts'
import { tenantRights } from './rights.ts'
import { generationOf, isOrphaning, nameOf, requesterOf, type TenantSpec } from './spec.ts'
import { tenantStatus } from './status.ts'
import { groupTenants, type TenantWatch, tenantWatches } from './watches.ts'
import { tenantParent } from './words.ts'
import { admitted, type TenantWorld } from './world.ts'

export function tenantKind(world: TenantWorld): Kind<TenantWorld> {
  return {
    name: 'tenant',
    parent: tenantParent,
    sources: sourcesOf(world),
    world: () => world,
    desired: desiredTenant,
    report: tenantStatus,
    shareOf: name => (isLiving(world.sights.lnamespaces.get(name)) ? name : shareOfEnded),
  }
}

/**
 * The one share of all that the garbage collector ends too, since no LNamespace is left. Thousands of deletions so do not delay
 * the end of a right that only we take away.
 */
export const shareOfEnded = ''

export const isLiving = (parent: Fact | undefined): boolean => parent !== undefined && !parent.deleting

/** The watches of objects that bound a Namespace, beside its labels. */
const bounding = ['quotas', 'limitRanges', 'networkPolicies'] as const
const bindingsInNamespace = [developerName, sudoerName]

function standingOf(name: string, { sights }: TenantWorld): { readonly bounds: Fact[]; readonly rights: Fact[] } {
  const facts = (watch: TenantWatch, keys: readonly string[]) => keys.flatMap(key => sights[watch].get(key) ?? [])
  const within = (names: readonly string[]) => names.map(each => keyOf(name, each))
  const inCluster = [editName(name), sudoName(name)]
  return {
    bounds: [...facts('namespaces', [name]), ...bounding.flatMap(watch => facts(watch, within([platformName])))],
    rights: [
      ...facts('roleBindings', within(bindingsInNamespace)),
      ...facts('clusterRoles', inCluster),
      ...facts('clusterRoleBindings', inCluster),
    ],
  }
}

export function desiredTenant(name: string, world: TenantWorld, nowMs: number): Verdict {
  const parent = world.sights.lnamespaces.get(name)
  if (!parent || world.isElsewhere?.()) return { do: 'leave' }
  const { bounds, rights } = standingOf(name, world)
  const unguarded = world.unguarded()
  const base = { do: 'hold', parent, ...(unguarded !== undefined && { onlyRevocations: unguarded }) } as const
  const { billing } = world
  // A deletion may ask that all stays.
  if (isOrphaning(parent)) return { ...base, objects: [], standing: [] }
  const admission = admitted(parent, world)
  // The Namespace and what bounds it are left alone: neither is a right, and the garbage collector has them in the end.
  if (parent.deleting) return { ...base, objects: [], standing: rights }
  const effects = billing && isBilled(parent, 'spec' in admission) ? billingEffects(parent, billing) : []
  if ('refusal' in admission) return { ...base, objects: [], standing: rights, effects }
  return { ...base, effects, ...holding(parent, admission.spec, { bounds, rights }, world, nowMs) }
}

function holding(
  parent: Fact,
  spec: TenantSpec,
  { bounds, rights }: { readonly bounds: readonly Fact[]; readonly rights: readonly Fact[] },
  world: TenantWorld,
  nowMs: number,
): Pick<Hold, 'objects' | 'standing' | 'dueMs'> {
  const { installation } = world.settings
  const isGuarded = world.unguarded() === undefined
  const grants = runningGrants(parent, spec, nowMs)
  const granted = grants.map(({ user }) => user)
  const objects = [
    ...platformObjects(parent, spec, {
      installation,
      isGuarded,
      hasRights: rights.length > 0,
      standing: world.sights.namespaces.get(nameOf(parent)),
      billing: world.billing && billingOf(parent, world.billing.config),
    }),
    ...tenantRights(parent, spec, granted, installation),
  ]
  const wanted = new Set(objects.map(({ object }) => refKey(refOf(object))))
  // To remove what bounds a tenant is to loosen it.
  const standing = [...bounds.filter(({ ref }) => isGuarded || wanted.has(refKey(ref))), ...rights]
  const isOurs = (fact: Fact, { adopts }: Wanted) =>
    belongsTo(fact, nameOf(parent)) || (!belongsTo(fact) && (adopts?.(fact) ?? false))
  const dueMs = firstEnd(grants)
  return { objects: withoutForeign(objects, standing, isOurs), standing, ...(dueMs !== undefined && { dueMs }) }
}

/**
 * The key of an object, if the event concerns it: the use of a quota, or the phase of a Namespace, does not. A write of others, or
 * an end, is urgent; a new object is not, since it was just made.
 */
export function pokes(change: Change<Fact>, key: string): readonly Poke[] {
  const isNew = change.type === 'put' && change.previous === undefined
  const urgent = isAnothers(change)
  return isNew || urgent ? [{ key, urgent }] : []
}

function sourcesOf(world: TenantWorld): readonly Source[] {
  const { sights } = world
  const source = (watch: TenantWatch, keysOf: Source['keysOf']): Source => ({
    ...tenantWatches[watch],
    ...{ watch: sights[watch], keysOf },
  })
  const within = (name: string) => (change: Change<Fact>) =>
    change.name === name ? pokes(change, change.namespace) : []
  return [
    source('lnamespaces', change => ofLNamespace(change, world)),
    source('namespaces', change => ofNamespace(change, world)),
    ...bounding.map(watch => source(watch, within(platformName))),
    source('clusterRoles', change => ofClusterWide(change, world)),
    source('roleBindings', change => [
      ...(bindingsInNamespace.includes(change.name) ? pokes(change, change.namespace) : []),
      ...ofForeign(change),
    ]),
    source('clusterRoleBindings', change => [...ofClusterWide(change, world), ...ofForeign(change)]),
  ]
}

/** An edit passes new ones, and so does the end of one whose rights still stand. A status does not, unless a grant differs. */
function* ofLNamespace(change: Change<Fact>, world: TenantWorld): Generator<Poke> {
  const { name, value } = change
  const previous = change.type === 'put' ? change.previous : undefined
  const isEdit =
    previous !== undefined &&
    (generationOf(previous) < generationOf(value) || grantsText(previous) !== grantsText(value))
  const { rights } = standingOf(name, world)
  const isNext = change.type === 'put' && rights.some(fact => !isOwnedBy(fact, value))
  yield { key: name, urgent: change.type === 'gone' || isEdit || isNext }
  yield* otherRequests(change, world)
}

/** The end of one makes room for another that the same user has asked for. */
function* otherRequests({ type, value }: Change<Fact>, { byRequester, settings }: TenantWorld): Generator<Poke> {
  const requester = requesterOf(value)
  if (type !== 'gone' || requester === '') return
  const others = byRequester(requester)
  if (others.length < settings.tenants.maxPerUser) return
  for (const other of others) yield { key: nameOf(other), urgent: false }
}

function* ofNamespace(change: Change<Fact>, { sights }: TenantWorld): Generator<Poke> {
  if (sights.lnamespaces.get(change.name)) yield* pokes(change, change.name)
}

function* ofClusterWide(change: Change<Fact>, { bySudoer }: TenantWorld): Generator<Poke> {
  const tenant = tenantOfName(change.name)
  if (tenant !== undefined) return yield* pokes(change, tenant)
  const user = userOfName(change.name)
  if (user === undefined) return
  // Its owners change with each tenant that lists the user: that concerns none of the others.
  const all = isTurn(change) ? bySudoer(user).map(nameOf) : []
  for (const key of new Set([...all, ...changedOwners(change)])) yield { key, urgent: false }
}

/** Whether an object has gone, or has other content. */
function isTurn(change: Change<Fact>): boolean {
  if (change.type === 'gone') return true
  return change.previous !== undefined && !isDeepStrictEqual(change.previous.owned, change.value.owned)
}

function changedOwners(change: Change<Fact>): Iterable<string> {
  const names = (fact: Fact | undefined) => new Set((fact?.owners ?? []).map(({ name }) => name))
  return names(change.value).symmetricDifference(names(change.type === 'put' ? change.previous : undefined))
}

/** A binding of others that names the group of a tenant, or did: before its first grant that is a conflict. */
function* ofForeign(change: Change<Fact>): Generator<Poke> {
  const previous = change.type === 'put' ? change.previous : undefined
  const named = new Set([change.value, previous].flatMap(fact => (fact ? groupTenants(fact) : [])))
  for (const key of named) if (!belongsTo(change.value, key)) yield { key, urgent: false }
}
