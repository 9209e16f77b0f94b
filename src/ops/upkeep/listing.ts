/** What a compare makes of its lists: the labs that are believed, and what is not. Pure. */
import type { KubeObject } from '../../base/domain.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { projectNamespace, projectPod } from '../../kube/pods/project.ts'
import { labNames } from '../../labs/names.ts'
import { podFieldsOf } from '../../labs/pod-fields.ts'
import type { Mark } from '../../store/compares.ts'
import type { MacVerdict } from '../../store/sealing.ts'
import { boundAt, type Trust } from '../trust.ts'
import type { Found } from './settle.ts'

/** An object that bears our label, and is not believed. */
export interface Distrusted {
  readonly why: 'ahead' | 'mac'
  readonly kind: 'Namespace' | 'Pod'
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly op: number | undefined
  /** Ours by installation, user and name. */
  readonly named: boolean
  /** Of a namespace's record. */
  readonly mac?: MacVerdict
}

/** Labs by installation, user and name, and how many of them bear an op beyond the bound. */
export interface Votes {
  readonly labs: number
  readonly ahead: number
}

export interface Listing {
  readonly found: ReadonlyMap<string, Found>
  /** Of what was found. */
  readonly highestOp: number
  readonly distrusted: readonly Distrusted[]
  /** Of labs whose MAC is right, and of those whose MAC says nothing. A wrong MAC has no vote. */
  readonly vouched: Votes
  readonly unvouched: Votes
}

export interface ListingOptions {
  readonly trust: Trust
  readonly namespacePrefix: string
}

export function readListing(
  { trust, namespacePrefix }: ListingOptions,
  lists: { readonly namespaces: readonly KubeObject[]; readonly pods: readonly KubeObject[] },
  redisMs: number,
): Listing {
  const boundOp = boundAt(redisMs)
  const isAhead = ({ op }: { readonly op: number | undefined }) => (op ?? 0) > boundOp
  const namespaces = lists.namespaces.map(projectNamespace).map(namespace => {
    return { namespace, ...trust.inspect(namespace, boundOp) }
  })
  const pods = lists.pods.map(object => ({ pod: projectPod(object), object }))
  const byNamespace = Map.groupBy(pods, ({ pod }) => pod.namespace)
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
      podFields: its ? podFieldsOf(its.object) : {},
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
      ...pods.filter(({ pod }) => isAhead(pod)).map(({ pod }) => distrustedPod(pod)),
    ],
    vouched: votes('right'),
    unvouched: votes('unknown'),
  }
}

function distrustedPod({ name, namespace, uid, op }: PodFacts): Distrusted {
  return { why: 'ahead', kind: 'Pod', name, namespace, uid, op, named: false }
}

/**
 * Why Redis' clock cannot be right, as the labs have it; undefined where nothing speaks against it.
 *
 * Labs with a right MAC decide, since nobody else can make one. While Redis' data are not known to be good, one of them that
 * is ahead is enough: it would be denied. Labs whose MAC says nothing have a vote only then, or where Redis remembers no op:
 * otherwise the counter was drawn from by this very clock, and what lies beyond it may be somebody else's writing.
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

/** Of a counter that is ahead, in words. */
export function counterDoubt(lastOp: number, redisMs: number): string {
  const days = Math.floor((lastOp / 1000 - redisMs) / 86_400_000)
  return `the clock of Redis, or its counter (skylab heal): the last operation is ${days} days beyond the clock`
}
