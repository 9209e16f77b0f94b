/** The diagnosis and the changes of `skylab heal`, from the state of Redis and the cluster. */
import { labKind, labOf, namedBy, parseSubject, type Subject, subjectText } from '../../base/subject.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { HealStore, SubjectOps, Survey } from '../../store/heal.ts'
import { boundAt } from '../trust.ts'
import { type Distrusted, doubtOf, type Listing } from './listing.ts'

const parts = ['record', 'stream', 'tombstone', 'waiting', 'epoch', 'run'] as const

/** A part of what Redis has of a subject. */
type Part = (typeof parts)[number]

type Named = ReturnType<typeof namedBy>

export type Finding =
  /** The last issued op is ahead; it is set to the higher of Redis' clock and the highest trusted op. */
  | { readonly kind: 'counter'; readonly op: number; readonly to: number }
  /** The last number that a claim of this kind of subjects drew is ahead; it is set in the same way. */
  | { readonly kind: 'epoch-counter'; readonly of: string; readonly op: number; readonly to: number }
  | (Named & { readonly kind: Part; readonly op: number })
  /** A namespace that is ours by its name: deleted by its UID. */
  | { readonly kind: 'namespace'; readonly name: string; readonly uid: string; readonly op: number }

/**
 * An object with our label that is only reported: it is not ours (`ahead`, `mac`), a trusted record names it
 * (`relabelled`), or its MAC is right and the deletion of labs was not requested (`lab`).
 */
export interface Stranger {
  readonly kind: 'Namespace' | 'Pod'
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly op: number | undefined
  readonly why: 'ahead' | 'mac' | 'relabelled' | 'lab'
}

export interface Diagnosis {
  readonly findings: readonly Finding[]
  /**
   * Left as they are: all keys of a subject of another kind whose record is ahead. No compare finds its objects again, as it
   * finds those of labs, so they would be orphaned. And the run of a container that is ahead: it fences older runs.
   */
  readonly kept: readonly Finding[]
  readonly strangers: readonly Stranger[]
  /** The highest trusted number in Redis or in the cluster. */
  readonly trustedOp: number
  /** Why nothing may be changed: numbers that seem ahead may be right, and the clock wrong. */
  readonly refusal: string | undefined
}

/** More than clocks of working servers differ. */
const clockToleranceMs = 3_600_000

/** In milliseconds. */
export interface Clocks {
  /** The clock of the machine that runs `skylab heal`. */
  readonly wallMs: number
  /** NaN if the API server sends no clock; undefined for an installation that asks no API server. */
  readonly apiServerMs: number | undefined
}

/** @param withLabs true if namespaces with a right MAC may be deleted */
export function diagnose(survey: Survey, listing: Listing, clocks: Clocks, withLabs: boolean): Diagnosis {
  const boundOp = boundAt(survey.nowMs)
  const ops = survey.subjects.flatMap(opsOf)
  const drawn = [survey.lastOp, ...Object.values(survey.epochs), ...ops.map(({ op }) => op)]
  const trustedOp = [listing.highestOp, ...drawn.filter(op => op <= boundOp)].reduce((a, b) => Math.max(a, b), 0)
  const to = Math.max(survey.nowMs * 1000, trustedOp)
  const epochs = Object.entries(survey.epochs).map(([of, op]) => ({ kind: 'epoch-counter' as const, of, op, to }))
  const ahead = survey.subjects.flatMap(each => {
    const isKept = each.subject.kind !== labKind && each.record > boundOp
    const found = opsOf(each).filter(({ op }) => op > boundOp)
    return found.map(finding => ({ finding, isKept: isKept || finding.kind === 'run' }))
  })
  const aheadThat = (kept: boolean) => ahead.filter(({ isKept }) => isKept === kept).map(({ finding }) => finding)
  // Only labs have a namespace.
  const labs = survey.subjects.filter(({ subject }) => subject.kind === labKind)
  const believed = labs.filter(({ record }) => record > 0 && record <= boundOp)
  const uids = new Set(believed.map(({ namespaceUid }) => namespaceUid))
  const judged = listing.distrusted.map(object => ({ object, why: whyUntouched(object, uids, withLabs) }))
  return {
    findings: [
      ...(survey.lastOp > boundOp ? [{ kind: 'counter' as const, op: survey.lastOp, to }] : []),
      ...epochs.filter(({ op }) => op > boundOp),
      ...aheadThat(false),
      ...judged
        .filter(({ why }) => why === undefined)
        .map(({ object: { name, uid, op } }) => ({ kind: 'namespace' as const, name, uid, op: op! })),
    ],
    kept: aheadThat(true),
    strangers: judged.flatMap(({ object: { named: _, mac: _mac, ...object }, why }) =>
      why ? [{ ...object, why }] : [],
    ),
    trustedOp,
    refusal: refusalOf(survey.nowMs, clocks, withLabs ? undefined : labDoubt(listing)),
  }
}

const opsOf = (each: SubjectOps) => parts.map(kind => ({ kind, ...namedBy(each.subject), op: each[kind] }))

function subjectOf(finding: Finding): Subject | undefined {
  if ('user' in finding) return labOf(finding.user)
  return 'subject' in finding ? parseSubject(finding.subject) : undefined
}

/** @returns undefined for a namespace to be deleted */
function whyUntouched(object: Distrusted, uids: ReadonlySet<string>, withLabs: boolean): Stranger['why'] | undefined {
  const { why, kind, named, mac, uid } = object
  if (kind === 'Namespace' && uids.has(uid)) return 'relabelled'
  if (mac === 'wrong') return 'mac'
  if (why !== 'ahead' || kind !== 'Namespace' || !named) return why
  return mac === 'right' && !withLabs ? 'lab' : undefined
}

/** Labs without MAC have no vote here, since they are to be removed. */
function labDoubt(listing: Listing): string | undefined {
  const doubt = doubtOf({ foundOp: 1, needed: false }, listing)
  return doubt && `this speaks against ${doubt}. Set it right, or give --with-labs where it is right`
}

function refusalOf(redisMs: number, { wallMs, apiServerMs }: Clocks, doubt: string | undefined): string | undefined {
  if (apiServerMs !== undefined && Number.isNaN(apiServerMs))
    return 'the API server sends no clock to compare with that of Redis'
  return (
    clockRefusal(redisMs, wallMs, 'this machine’s') ??
    (apiServerMs === undefined ? undefined : clockRefusal(redisMs, apiServerMs, 'the API server’s')) ??
    doubt
  )
}

function clockRefusal(redisMs: number, otherMs: number, whose: string): string | undefined {
  const offMs = redisMs - otherMs
  if (Math.abs(offMs) <= clockToleranceMs) return undefined
  const hours = Math.round(Math.abs(offMs) / 3_600_000)
  return `the clock of Redis is ${hours} hours ${offMs < 0 ? 'behind' : 'ahead of'} ${whose}: set it right first`
}

export interface Healers {
  /** Not needed without findings of namespaces. */
  readonly kube?: Pick<KubeClient, 'delete'> | undefined
  readonly store: Pick<HealStore, 'healSubject' | 'healCounter'>
  /** Called after each change with its result. */
  readonly onHealed?: (healed: Healed, result: 'succeeded' | 'failed') => void
}

/** The unit of one change: a namespace, all keys of a subject in Redis, or the counters. */
export type Healed =
  | { readonly kind: 'namespace'; readonly name: string; readonly op: number }
  | { readonly kind: 'records'; readonly subject: Subject }
  | { readonly kind: 'counter'; readonly op: number }

/** Applies the changes in an order that survives an interruption: the counter, by which all is found, is last. */
export async function applyTo(
  { findings, trustedOp }: Diagnosis,
  { kube, store, onHealed = () => {} }: Healers,
): Promise<void> {
  const heal = async (healed: Healed, change: () => Promise<unknown>) => {
    try {
      await change()
    } catch (error) {
      onHealed(healed, 'failed')
      throw error
    }
    onHealed(healed, 'succeeded')
  }
  for (const finding of findings) {
    if (finding.kind !== 'namespace') continue
    const { kind, name, uid, op } = finding
    const remove = async () => kube?.delete({ apiVersion: 'v1', kind: 'Namespace', name, uid }, { agent: 'heal' })
    await heal({ kind, name, op }, remove)
  }
  const subjects = new Map(findings.flatMap(finding => subjectOf(finding) ?? []).map(each => [subjectText(each), each]))
  for (const subject of subjects.values()) {
    await heal({ kind: 'records', subject }, () => store.healSubject(subject))
  }
  // It also causes a new compare of the records of labs, or of machines, which nothing else here does. Until then none is answered for.
  const compare = findings.some(
    finding => finding.kind === 'counter' || (finding.kind === 'record' && 'user' in finding),
  )
  if (compare || findings.some(({ kind }) => kind === 'epoch-counter')) {
    await heal({ kind: 'counter', op: trustedOp }, () => store.healCounter(trustedOp, compare))
  }
}

/** The findings that remain; deleted namespaces are left out, since they take time to go. */
export function leftOf(before: Diagnosis, after: Diagnosis): Finding[] {
  const uids = new Set(before.findings.flatMap(finding => (finding.kind === 'namespace' ? [finding.uid] : [])))
  return after.findings.filter(finding => finding.kind !== 'namespace' || !uids.has(finding.uid))
}
