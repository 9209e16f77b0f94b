/** What `skylab heal` finds, and would do about it, from Redis and the cluster as both were read. Pure. */
import type { Survey } from '../store/heal.ts'
import type { Listing } from './listing.ts'
import { boundAt } from './trust.ts'

export type Finding =
  /** The last op given out is ahead; it is set to the highest of Redis' clock and of the ops that are believed. */
  | { readonly kind: 'counter'; readonly op: number; readonly to: number }
  | {
      readonly kind: 'record' | 'stream' | 'tombstone' | 'waiting'
      readonly user: string
      readonly op: number
    }
  /** Of ours by its name: deleted by its UID. */
  | { readonly kind: 'namespace'; readonly name: string; readonly uid: string; readonly op: number }

/** Bears our label, and is not ours: named, and never touched. */
export interface Stranger {
  readonly kind: 'Namespace' | 'Pod'
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly op: number | undefined
  readonly why: 'ahead' | 'mac'
}

export interface Diagnosis {
  readonly findings: readonly Finding[]
  readonly strangers: readonly Stranger[]
  /** The highest op that is believed, in Redis or in the cluster. */
  readonly trustedOp: number
  /** Why nothing may be changed: what looks ahead may be right, and the clock wrong. */
  readonly refusal: string | undefined
}

/** More than clocks of servers ever differ. */
const clockToleranceMs = 3_600_000

/** @param wallMs the clock of who asks */
export function diagnose(survey: Survey, listing: Listing, wallMs: number): Diagnosis {
  const boundOp = boundAt(survey.nowMs)
  const parts = ['record', 'stream', 'tombstone', 'waiting'] as const
  const ops = survey.users.flatMap(user => parts.map(kind => ({ kind, user: user.user, op: user[kind] })))
  const trusted = [listing.highestOp, ...[survey.lastOp, ...ops.map(({ op }) => op)].filter(op => op <= boundOp)]
  const trustedOp = trusted.reduce((highest, op) => Math.max(highest, op), 0)
  const counter = survey.lastOp > boundOp
  const isNamespace = ({ why, kind, named }: Listing['distrusted'][number]) =>
    why === 'ahead' && kind === 'Namespace' && named
  return {
    findings: [
      ...(counter
        ? [{ kind: 'counter' as const, op: survey.lastOp, to: Math.max(survey.nowMs * 1000, trustedOp) }]
        : []),
      ...ops.filter(({ op }) => op > boundOp),
      ...listing.distrusted
        .filter(isNamespace)
        .map(({ name, uid, op }) => ({ kind: 'namespace' as const, name, uid, op: op! })),
    ],
    strangers: listing.distrusted.filter(each => !isNamespace(each)).map(({ named: _, ...stranger }) => stranger),
    trustedOp,
    refusal: refusalOf(survey.nowMs, wallMs),
  }
}

function refusalOf(redisMs: number, wallMs: number): string | undefined {
  const offMs = redisMs - wallMs
  if (Math.abs(offMs) <= clockToleranceMs) return undefined
  const hours = Math.round(Math.abs(offMs) / 3_600_000)
  return `the clock of Redis is ${hours} hours ${offMs < 0 ? 'behind' : 'ahead of'} this machine’s: set it right first`
}
