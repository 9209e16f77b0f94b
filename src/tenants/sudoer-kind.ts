/** The kind *sudoer*: a user, by name, who may impersonate himself while any LNamespace gives him sudo. Pure. */
import type { Change } from '../kube/picture.ts'
import type { Fact, Kind, Poke, Source, Verdict } from '../reconcile/types.ts'
import { firstEnd, grantsIn, grantsText, runningGrants } from './grants.ts'
import { isLiving, pokes, shareOfEnded } from './kind.ts'
import { selfName, userOfName } from './names.ts'
import { belongsTo, withoutForeign } from './objects.ts'
import { selfRights } from './rights.ts'
import { checked } from './rules.ts'
import { isOrphaning } from './spec.ts'
import { type TenantSights, tenantWatches } from './watches.ts'
import { tenantParent } from './words.ts'
import { hasSudo, ownNamespace, sudoUsers, type TenantWorld } from './world.ts'

export function sudoerKind(world: TenantWorld): Kind<TenantWorld> {
  return {
    name: 'sudoer',
    parent: tenantParent,
    sources: sourcesOf(world),
    world: () => world,
    desired: desiredSudoer,
    // A tenant tells of its sudoers.
    report: () => undefined,
    shareOf: user => (isListed(user, world) || isOwned(user, world) ? user : shareOfEnded),
  }
}

const isListed = (user: string, { bySudoer }: TenantWorld) => bySudoer(user).some(isLiving)

/** Whether a living LNamespace owns what stands, though it may list the user no more. */
function isOwned(user: string, { sights }: TenantWorld): boolean {
  const owners = standingOf(user, sights).flatMap(fact => fact.owners)
  return owners.some(({ name, uid }) => {
    const parent = sights.lnamespaces.get(name)
    return parent?.uid === uid && isLiving(parent)
  })
}

function standingOf(user: string, { clusterRoles, clusterRoleBindings }: TenantSights): readonly Fact[] {
  const name = selfName(user)
  return [clusterRoles.get(name) ?? [], clusterRoleBindings.get(name) ?? []].flat()
}

export function desiredSudoer(user: string, world: TenantWorld, nowMs: number): Verdict {
  const { sights, settings, bySudoer, unguarded } = world
  const standing = standingOf(user, sights)
  const listing = bySudoer(user).filter(fact => gives(user, fact, world, nowMs))
  const parents = listing.filter(({ deleting }) => !deleting).sort((a, b) => (a.uid < b.uid ? -1 : 1))
  if (world.isElsewhere?.()) return { do: 'leave' }
  const dueMs = firstEnd(listing.flatMap(fact => grantsOf(user, fact, world, nowMs)))
  const due = dueMs !== undefined && { dueMs }
  if (parents.length === 0) {
    // The deletion of the last of them may ask that all stays.
    if (listing.some(isOrphaning)) return { do: 'hold', parent: 'shared', objects: [], standing: [] }
    if (!standing.some(fact => belongsTo(fact))) return { do: 'leave' }
  }
  const why = unguarded()
  const objects = selfRights(user, parents, settings.installation)
  return {
    ...{ do: 'hold', parent: 'shared', standing, ...due },
    objects: withoutForeign(objects, standing, fact => belongsTo(fact)),
    ...(why !== undefined && { onlyRevocations: why }),
  }
}

/** An LNamespace without a namespace of its own, such as one too many, gives nothing: else its author could make any number of roles. */
function gives(user: string, fact: Fact, world: TenantWorld, nowMs: number): boolean {
  const check = checked(fact, world.settings)
  // The garbage collector takes the owner of its Namespace away before it is gone.
  const hasNamespace = isOrphaning(fact) || ownNamespace(fact, world) !== undefined
  return hasNamespace && 'spec' in check && hasSudo(user, fact, check.spec, nowMs)
}

function grantsOf(user: string, fact: Fact, { settings }: TenantWorld, nowMs: number) {
  const check = checked(fact, settings)
  if ('refusal' in check || check.spec.sudoers.includes(user)) return []
  return runningGrants(fact, check.spec, nowMs).filter(grant => grant.user === user)
}

function sourcesOf(world: TenantWorld): readonly Source[] {
  const { sights } = world
  const ofSelf = function* (change: Change<Fact>): Generator<Poke> {
    const user = userOfName(change.name)
    if (user !== undefined) yield* pokes(change, user)
  }
  return [
    { ...tenantWatches.lnamespaces, watch: sights.lnamespaces, keysOf: change => ofLNamespace(change, world) },
    { ...tenantWatches.namespaces, watch: sights.namespaces, keysOf: change => ofNamespace(change, world) },
    { ...tenantWatches.clusterRoles, watch: sights.clusterRoles, keysOf: ofSelf },
    { ...tenantWatches.clusterRoleBindings, watch: sights.clusterRoleBindings, keysOf: ofSelf },
  ]
}

/** Users who come or go; all of them when the LNamespace comes or goes. The end of a right passes new ones. */
function* ofLNamespace(change: Change<Fact>, { settings }: TenantWorld): Generator<Poke> {
  const previous = change.type === 'put' ? change.previous : change.value
  const next = change.type === 'put' ? change.value : undefined
  const of = (fact: Fact | undefined) => new Set(fact && !fact.deleting ? sudoUsers(fact, settings) : [])
  const [before, after] = [of(previous), of(next)]
  const granted =
    previous && next && grantsText(previous) !== grantsText(next) ? [...grantsIn(previous), ...grantsIn(next)] : []
  const others = new Set(granted.map(({ user }) => user))
  for (const user of before.symmetricDifference(after).union(others)) yield { key: user, urgent: before.has(user) }
}

/** A Namespace that comes, goes, or changes its owner. */
function* ofNamespace(change: Change<Fact>, { sights, settings }: TenantWorld): Generator<Poke> {
  const previous = change.type === 'put' ? change.previous : undefined
  const ownersOf = ({ owners }: Fact) => owners.map(({ uid }) => uid).join()
  if (previous && ownersOf(previous) === ownersOf(change.value)) return
  const fact = sights.lnamespaces.get(change.name)
  const urgent = change.type === 'gone' || previous !== undefined
  if (fact) for (const key of sudoUsers(fact, settings)) yield { key, urgent }
}
