/** Sorts the lists of a compare into trusted labs and distrusted objects. Pure. */
import type { KubeObject } from '../../base/domain.ts'
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import { projectPod } from '../../kube/pods/project.ts'
import { labNames } from '../../labs/names.ts'
import { type PodFields, podFieldsOf } from '../../labs/pod-fields.ts'
import type { Mark } from '../../store/compares.ts'
import type { MacVerdict } from '../../store/sealing.ts'
import { boundAt, type Trust } from '../trust.ts'
import type { Found } from './settle.ts'

/** An object with our label that is not trusted. */
export interface Distrusted {
  readonly why: 'ahead' | 'mac'
  readonly kind: 'Namespace' | 'Pod'
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly op: number | undefined
  /** True if installation, user and name are ours. */
  readonly named: boolean
  /** The verdict on a namespace's record. */
  readonly mac?: MacVerdict
}

/** The number of labs by installation, user and name, and how many of them have an op beyond the bound. */
export interface Votes {
  readonly labs: number
  readonly ahead: number
}

export interface Listing {
  readonly found: ReadonlyMap<string, Found>
  /** The highest op in `found`. */
  readonly highestOp: number
  readonly distrusted: readonly Distrusted[]
  /** The votes of labs with a right MAC, and of labs without a MAC that can be checked. A wrong MAC has no vote. */
  readonly vouched: Votes
  readonly unvouched: Votes
}

/** The part of a listed pod that a compare keeps. */
export interface ListedPod {
  readonly pod: PodFacts
  readonly podFields: PodFields
}

export const listedPod = (object: KubeObject): ListedPod => ({
  pod: projectPod(object),
  podFields: podFieldsOf(object),
})

export interface Lists {
  readonly namespaces: readonly NamespaceFacts[]
  readonly pods: readonly ListedPod[]
}

export interface ListingOptions {
  readonly trust: Trust
  readonly namespacePrefix: string
}

export function readListing({ trust, namespacePrefix }: ListingOptions, lists: Lists, redisMs: number): Listing {
  const boundOp = boundAt(redisMs)
  const isAhead = ({ op }: { readonly op: number | undefined }) => (op ?? 0) > boundOp
  const namespaces = lists.namespaces.map(namespace => ({ namespace, ...trust.inspect(namespace, boundOp) }))
  const byNamespace = Map.groupBy(lists.pods, ({ pod }) => pod.namespace)
  const found = new Map<string, Found>()
  let highestOp = 0
  for (const { namespace, verdict, mac } of namespaces) {
    if (verdict !== 'ours') continue
    const user = namespace.user!
    const names = labNames(namespacePrefix, user)
    const inside = byNamespace.get(namespace.name) ?? []
    const its = inside.find(({ pod }) => pod.name === names.lab && pod.ownerUid === namespace.uid)
    if (its && isAhead(its.pod)) continue
    found.set(user, {
      namespace,
      pod: its?.pod,
      names,
      vouched: mac === 'right',
      podFields: its?.podFields ?? {},
    })
    highestOp = Math.max(highestOp, namespace.op!, its?.pod.op ?? 0)
  }
  const votes = (of: MacVerdict): Votes => {
    const labs = namespaces.filter(({ verdict, mac }) => verdict !== 'foreign' && mac === of)
    return { labs: labs.length, ahead: labs.filter(({ verdict }) => verdict === 'ahead').length }
  }
  return {
    found,
    highestOp,
    distrusted: [
      ...namespaces.flatMap(({ namespace, verdict, mac }): Distrusted[] => {
        if (!isAhead(namespace) && verdict !== 'forged') return []
        const { name, uid, op } = namespace
        const named = verdict !== 'foreign'
        return [{ why: isAhead(namespace) ? 'ahead' : 'mac', kind: 'Namespace', name, uid, op, named, mac }]
      }),
      ...lists.pods.filter(({ pod }) => isAhead(pod)).map(({ pod }) => distrustedPod(pod)),
    ],
    vouched: votes('right'),
    unvouched: votes('unknown'),
  }
}

function distrustedPod({ name, namespace, uid, op }: PodFacts): Distrusted {
  return { why: 'ahead', kind: 'Pod', name, namespace, uid, op, named: false }
}

/**
 * Explains why Redis' clock cannot be right, judging by the labs; undefined if there is no such reason.
 *
 * Labs with a right MAC decide, since nobody else can make one. While Redis' data are not known to be good, one of them
 * that is ahead is enough: otherwise that lab would be reported as missing. Labs without a MAC that can be checked have a
 * vote only then, or if Redis knows no op. Otherwise this clock has already issued ops, and a number beyond it may be
 * forged.
 */
export function doubtOf(
  { foundOp, needed }: Pick<Mark, 'foundOp' | 'needed'>,
  { vouched, unvouched }: Pick<Listing, 'vouched' | 'unvouched'>,
): string | undefined {
  const speaks = ({ labs, ahead }: Votes) => 2 * ahead > labs
  if (speaks(vouched) || (needed && vouched.ahead > 0)) return clockDoubt(vouched)
  return (needed || foundOp === 0) && speaks(unvouched) ? clockDoubt(unvouched) : undefined
}

const clockDoubt = ({ labs, ahead }: Votes): string =>
  `the clock of Redis, which is behind: ${ahead} of ${labs} labs bear numbers more than a day beyond it`

/** Describes a counter that is ahead. */
export function counterDoubt(lastOp: number, redisMs: number): string {
  const days = Math.floor((lastOp / 1000 - redisMs) / 86_400_000)
  return `the clock of Redis, or its counter (skylab heal): the last operation is ${days} days beyond the clock`
}
