/**
 * Decides which images to pull onto which nodes (SQR-066, "Prepulling"), from the current cluster and records. Pure. The
 * caller must write the records before it acts.
 */
import type { PrepullRecords, PullFailure } from '../../store/prepulls.ts'
import type { CatalogueImage } from '../catalogue/types.ts'
import { type Placement, whyIneligible } from './eligible.ts'
import { type NodeFacts, plainName } from './nodes.ts'
import { type PullPod, type PullSet, pullReference, pullSetName } from './pull-set.ts'

/** The input of a decision: the cluster and the records. */
export interface PrepullWorld {
  readonly nodes: readonly NodeFacts[]
  readonly sets: readonly PullSet[]
  readonly pods: readonly PullPod[]
  readonly records: PrepullRecords
  /** Redis' clock. */
  readonly nowMs: number
}

export interface PrepullRules {
  readonly installation: string
  readonly placement: Placement
  readonly timeoutMs: number
  readonly retryMs: number
  readonly maxRetryMs: number
  readonly maxAtOnce: number
}

/** A DaemonSet to create, or to restrict to other nodes. */
export interface PullOrder {
  readonly name: string
  readonly image: CatalogueImage
  readonly nodes: readonly string[]
}

export interface PrepullDecision {
  readonly records: PrepullRecords
  readonly create: readonly PullOrder[]
  readonly extend: readonly (PullOrder & { readonly set: PullSet })[]
  readonly remove: readonly { readonly set: PullSet; readonly why: 'pulled' | 'failed' | 'unwanted' }[]
  /** New failures. */
  readonly failed: readonly { readonly image: CatalogueImage; readonly failure: PullFailure }[]
  /** When to decide again even without a change, by Redis' clock. */
  readonly dueMs: number | undefined
}

/** The state of an image on the nodes. */
export interface ImageStanding {
  readonly image: CatalogueImage
  readonly key: string
  /** Name of its DaemonSet. */
  readonly name: string
  /** Nodes that have it, eligible or not. */
  readonly having: readonly NodeFacts[]
  /** Eligible nodes that lack it. */
  readonly missing: readonly NodeFacts[]
  /** The record of nodes onto which it was pulled: true for those that list it. */
  readonly recorded: ReadonlyMap<string, boolean>
  /** The last failure, as long as one of its nodes still lacks the image. */
  readonly failure: PullFailure | undefined
}

/** The key of an image in records. A tag that moved to another digest is another image; tags of one digest are the same. */
export const imageKey = ({ reference, digest }: Pick<CatalogueImage, 'reference' | 'digest'>) =>
  digest === null ? reference : `${reference.replace(/:[^:/]*$/, '')}@${digest}`

/** The name under which nodes list an image: by its digest, or by its tag if no digest is known. */
export const listedName = (image: CatalogueImage) => plainName(imageKey(image))

/**
 * The state of each image on the nodes, each image once.
 *
 * A kubelet lists at most 50 images, so a completed pull counts even if the node does not list the image. If the node listed
 * it later and does so no more, it was removed or exceeds the limit of 50. Decisions treat it as missing, since another pull
 * costs little. The status follows the record (`believesListed`), since its watch may lag behind the replica that wrote it.
 */
export function standings(
  images: readonly CatalogueImage[],
  { nodes, pods, records }: Pick<PrepullWorld, 'nodes' | 'pods' | 'records'>,
  { installation, placement }: Pick<PrepullRules, 'installation' | 'placement'>,
  believesListed = true,
): ImageStanding[] {
  const eligible = new Set(nodes.filter(node => whyIneligible(node, placement) === undefined))
  const podsOf = Map.groupBy(pods, pod => pod.set)
  return [...Map.groupBy(images, imageKey)].map(([key, [image]]) => {
    const name = pullSetName(installation, image!)
    const listedAs = listedName(image!)
    const isListed = (node: NodeFacts) => node.imagesByName.has(listedAs)
    const pulled = pulledBy(podsOf.get(name) ?? [])
    const before = records.prepulled.get(key)
    const wasPulled = ({ uid }: NodeFacts) =>
      before?.get(uid) === false || (believesListed && before?.get(uid) === true)
    const has = (node: NodeFacts) => isListed(node) || wasPulled(node) || pulled(node)
    const { having = [], lacking = [] } = Object.groupBy(nodes, node => (has(node) ? 'having' : 'lacking'))
    const recorded = having
      .filter(node => before?.has(node.uid) || pulled(node))
      .map((node): [string, boolean] => [node.uid, isListed(node)])
    return {
      ...{ image: image!, key, name, having, recorded: new Map(recorded) },
      missing: lacking.filter(node => eligible.has(node)),
      failure: unresolved(records.failures.get(key), lacking),
    }
  })
}

/** Tells whether one of the pods has pulled onto a node. Pods of a former node of that name do not count. */
function pulledBy(pods: readonly PullPod[]): (node: NodeFacts) => boolean {
  const sinceMs = new Map<string, number>()
  for (const { state, node, createdMs } of pods) {
    if (state === 'pulled') sinceMs.set(node, Math.max(createdMs, sinceMs.get(node) ?? 0))
  }
  return ({ name, createdMs }) => (sinceMs.get(name) ?? Number.NEGATIVE_INFINITY) >= createdMs
}

function unresolved(failure: PullFailure | undefined, lacking: readonly NodeFacts[]): PullFailure | undefined {
  const uids = new Set(lacking.map(({ uid }) => uid))
  const nodes = failure?.nodes.filter(uid => uids.has(uid)) ?? []
  return failure && nodes.length > 0 ? { ...failure, nodes } : undefined
}

/** The plan for one image. */
interface ImagePlan {
  readonly standing: ImageStanding
  readonly failure: PullFailure | undefined
  /** Nodes to pull onto now. */
  readonly wanted: readonly NodeFacts[]
  /** The existing DaemonSet; `fate` is what happens to it. */
  readonly set: PullSet | undefined
  readonly fate: 'none' | 'stays' | 'pulled' | 'failed' | 'unwanted'
}

/** @param images those that every eligible node should have, the most urgent first */
export function decidePrepull(
  images: readonly CatalogueImage[],
  world: PrepullWorld,
  rules: PrepullRules,
): PrepullDecision {
  const sets = new Map(world.sets.map(set => [set.name, set]))
  const plans = standings(images, world, rules, false).map(standing =>
    planFor(standing, sets.get(standing.name), world, rules),
  )
  const planned = new Set(plans.flatMap(({ set }) => set ?? []))
  const unwanted = world.sets.filter(set => !planned.has(set) && !set.deleting)
  const running = plans.filter(({ fate }) => fate === 'stays')
  const places = Math.max(0, rules.maxAtOnce - running.length)
  const startable = plans.filter(({ fate, wanted }) => fate === 'none' && wanted.length > 0)
  return {
    records: recordsAfter(plans),
    create: startable.slice(0, places).map(orderOf),
    extend: running.filter(isToExtend).map(plan => ({ ...orderOf(plan), set: plan.set! })),
    remove: [
      ...unwanted.map(set => ({ set, why: 'unwanted' as const })),
      ...plans.flatMap(({ set, fate }) =>
        set && !set.deleting && fate !== 'stays' && fate !== 'none' ? [{ set, why: fate }] : [],
      ),
    ],
    failed: plans.flatMap(({ standing, failure }) =>
      failure && failure.set !== standing.failure?.set ? [{ image: standing.image, failure }] : [],
    ),
    dueMs: dueMs(plans, world, rules),
  }
}

const orderOf = ({ standing: { name, image }, wanted }: ImagePlan): PullOrder => ({
  name,
  image,
  nodes: wanted.map(node => node.name).sort(),
})

const isToExtend = ({ set, wanted }: ImagePlan) => wanted.some(({ name }) => !set!.nodes.includes(name))

function planFor(
  standing: ImageStanding,
  set: PullSet | undefined,
  world: PrepullWorld,
  rules: PrepullRules,
): ImagePlan {
  const { missing, failure } = standing
  // A DaemonSet that is being deleted still occupies the name.
  if (set?.deleting) return { standing, failure, wanted: [], set, fate: 'none' }
  const wanted = wantedOf(missing, failure, world.nowMs)
  if (!set) return { standing, failure, wanted, set, fate: 'none' }
  if (set.image !== pullReference(standing.image)) return { standing, failure, wanted: [], set, fate: 'unwanted' }
  if (failure?.set === set.uid) return { standing, failure, wanted: [], set, fate: 'failed' }
  const open = missing.filter(({ name }) => set.nodes.includes(name))
  const error = open.length > 0 ? whyOver(open, set, world, rules) : undefined
  if (error !== undefined) {
    const failed = failureAfter(failure, open, { set: set.uid, error, nowMs: world.nowMs }, rules)
    return { standing, failure: failed, wanted: [], set, fate: 'failed' }
  }
  const onto = [...new Set([...open, ...wanted])]
  return { standing, failure, wanted: onto, set, fate: onto.length > 0 ? 'stays' : 'pulled' }
}

/** Nodes that failed wait for the next attempt; nodes that joined later do not. */
function wantedOf(missing: readonly NodeFacts[], failure: PullFailure | undefined, nowMs: number): NodeFacts[] {
  return missing.filter(({ uid }) => !failure || nowMs >= failure.nextMs || !failure.nodes.includes(uid))
}

/** Why a DaemonSet has failed: it failed on each open node, or its time is over. Undefined while neither holds. */
function whyOver(
  open: readonly NodeFacts[],
  set: PullSet,
  { pods, nowMs }: PrepullWorld,
  { timeoutMs }: PrepullRules,
): string | undefined {
  const troubles = troublesOf(
    open,
    pods.filter(({ setUid }) => setUid === set.uid),
  )
  if (troubles.every(({ failed }) => failed)) return errorOf(troubles)
  if (nowMs < set.begunMs + timeoutMs) return undefined
  const late = `The pull did not end within ${Math.round(timeoutMs / 1000)} s`
  return errorOf(troubles.map(trouble => ({ ...trouble, message: trouble.message || late })))
}

interface Trouble {
  readonly node: string
  readonly failed: boolean
  readonly message: string
}

/** The state of the pods on nodes that still lack the image. */
function troublesOf(nodes: readonly NodeFacts[], pods: readonly PullPod[]): Trouble[] {
  const podsOn = Map.groupBy(pods, pod => pod.node)
  return nodes.map(({ name }) => {
    const here = podsOn.get(name) ?? []
    const failed = here.length > 0 && here.every(({ state }) => state === 'failed')
    return { node: name, failed, message: here.find(({ message }) => message !== '')?.message ?? '' }
  })
}

/** A message for people: the first node's, for all. */
function errorOf(troubles: readonly Trouble[]): string {
  const [first, ...more] = troubles.toSorted(
    (a, b) => Number(b.failed) - Number(a.failed) || (a.node < b.node ? -1 : 1),
  )
  const others = more.length > 0 ? ` (and ${more.length} more)` : ''
  return `${first!.node}${others}: ${first!.message || 'It failed without a message'}`
}

/** A failure on nodes that joined before the next attempt is added to the present one, and counts as no attempt. */
function failureAfter(
  before: PullFailure | undefined,
  open: readonly NodeFacts[],
  { set, error, nowMs }: { set: string; error: string; nowMs: number },
  { retryMs, maxRetryMs }: PrepullRules,
): PullFailure {
  const nodes = [...new Set([...(before?.nodes ?? []), ...open.map(({ uid }) => uid)])].sort()
  if (before && nowMs < before.nextMs) return { ...before, error, nodes, set }
  const attempts = (before?.attempts ?? 0) + 1
  const nextMs = nowMs + Math.min(maxRetryMs, retryMs * 2 ** Math.min(attempts - 1, 30))
  return { attempts, nextMs, error, nodes, set }
}

/** The new records, without images and nodes that are gone. */
function recordsAfter(plans: readonly ImagePlan[]): PrepullRecords {
  const prepulled = plans.flatMap(({ standing: { key, recorded } }): [string, ReadonlyMap<string, boolean>][] =>
    recorded.size > 0 ? [[key, recorded]] : [],
  )
  const failures = plans.flatMap(({ standing: { key }, failure }): [string, PullFailure][] =>
    failure ? [[key, failure]] : [],
  )
  return { prepulled: new Map(prepulled), failures: new Map(failures) }
}

function dueMs(plans: readonly ImagePlan[], { nowMs }: PrepullWorld, { timeoutMs }: PrepullRules): number | undefined {
  const times = plans.flatMap(({ set, fate, failure }) => [
    ...(set && fate === 'stays' ? [set.begunMs + timeoutMs] : []),
    ...(failure && failure.nextMs > nowMs ? [failure.nextMs] : []),
  ])
  return times.length > 0 ? Math.min(...times) : undefined
}

/** The records after the cluster refused an order: a failure on the nodes that the order would have added. */
export function recordsAfterRefusal(
  records: PrepullRecords,
  { image, nodes, set }: PullOrder & { readonly set?: PullSet },
  error: string,
  world: Pick<PrepullWorld, 'nodes' | 'nowMs'>,
  rules: PrepullRules,
): PrepullRecords {
  const key = imageKey(image)
  const open = world.nodes.filter(({ name }) => nodes.includes(name) && !set?.nodes.includes(name))
  const failure = failureAfter(records.failures.get(key), open, { set: '', error, nowMs: world.nowMs }, rules)
  return { ...records, failures: new Map([...records.failures, [key, failure]]) }
}

/** The message of an image that is failing now, before that is recorded. */
export function troubleWith({ name, missing }: ImageStanding, pods: readonly PullPod[]): string | undefined {
  const failed = troublesOf(
    missing,
    pods.filter(({ set }) => set === name),
  ).filter(trouble => trouble.failed)
  return failed.length > 0 ? errorOf(failed) : undefined
}
