/** Checks how long operations of a struck owner wait: I7. */
import type { Evidence, LogLine, ParsedHistory, Violation } from '../evidence/evidence.ts'

/** A moment in which a replica held a user's operation. */
interface Held {
  readonly user: string
  readonly replica: string
  readonly atMs: number
}

interface Blow {
  readonly what: string
  readonly replica: string
  readonly atMs: number
}

export interface Takeover {
  readonly user: string
  readonly op: number
  readonly from: string
  readonly to: string
  readonly atMs: number
  readonly ms: number
  /** Blows to other replicas in the meantime. */
  readonly amid: readonly Blow[]
}

const slackMs = 1000
/** After data loss, replicas leave what they find to former owners for as long as a request may take. */
const longestRequestMs = 10_000

/** Signals by which a replica loses its operations. After `SIGCONT` it may still have them. */
const deadly = new Set(['SIGKILL', 'SIGSTOP'])

/** Every operation resumed after a blow to its owner, and how long it waited while a replica could resume it. */
export function takeoversOf(evidence: Evidence, parsed: ParsedHistory): readonly Takeover[] {
  const held = heldBy(evidence)
  const blows = blowsOf(evidence, parsed)
  return evidence.logs
    .filter(({ msg, user }) => msg === 'operation resumed' && user !== undefined)
    .flatMap(resumed => {
      const owner = lastOwner(held, resumed)
      const blow = owner && lastBlow(blows, owner, resumed.atMs)
      if (!blow) return []
      const sinceMs = Math.max(blow.atMs, heirReadyMs(evidence.logs, blows, resumed))
      const { user, op, replica, atMs } = resumed
      const amid = blows.filter(
        ({ what, atMs: struckMs }) => deadly.has(what) && struckMs > blow.atMs && struckMs < atMs,
      )
      return [{ user: user!, op: op!, from: owner.replica, to: replica, atMs, ms: atMs - sinceMs, amid }]
    })
}

/** Requests, steps and failpoints show the owner. Accepting, or giving up after waking, does not make an owner. */
function heldBy({ logs, audit, marks, terms }: Evidence): readonly Held[] {
  const byOp = new Map(logs.flatMap(({ op, user }) => (op === undefined || user === undefined ? [] : [[op, user]])))
  const steps = logs.filter(
    ({ msg, user, result }) =>
      user !== undefined && (msg === 'operation resumed' || (msg === 'step' && result !== 'aborted')),
  )
  const requests = audit.filter(({ op, replica }) => op !== undefined && replica !== undefined)
  const points = marks.filter(({ point, user }) => user !== undefined && !point.endsWith('.accepted'))
  return [
    ...steps.map(({ user, replica, atMs }) => ({ user: user!, replica, atMs })),
    ...requests.flatMap(({ op, replica, receivedAtMs: atMs, namespace }) => {
      const user = byOp.get(op!) ?? namespace.slice(terms.namespacePrefix.length + 1)
      return [{ user, replica: replica!, atMs }]
    }),
    ...points.map(({ user, replica, atMs }) => ({ user: user!, replica, atMs })),
  ].sort((a, b) => a.atMs - b.atMs)
}

function lastOwner(held: readonly Held[], resumed: LogLine): Held | undefined {
  return held.findLast(({ user, atMs }) => user === resumed.user && atMs < resumed.atMs)
}

function blowsOf({ marks }: Evidence, { strikes }: ParsedHistory): readonly Blow[] {
  const struck = marks.filter(({ effect }) => effect === 'kill' || effect === 'stop')
  return [
    ...strikes.map(({ what, replica, wallMs: atMs }) => ({ what, replica, atMs })),
    ...struck.map(({ effect, replica, atMs }) => ({ what: effect === 'kill' ? 'SIGKILL' : 'SIGSTOP', replica, atMs })),
  ].sort((a, b) => a.atMs - b.atMs)
}

/** The blow that took the operation from its owner: the last one before it was resumed, unless SIGCONT undid it. */
function lastBlow(blows: readonly Blow[], { replica, atMs }: Held, beforeMs: number): Blow | undefined {
  const last = blows.findLast(
    blow => blow.replica === replica && blow.atMs < beforeMs && (deadly.has(blow.what) || blow.what === 'SIGCONT'),
  )
  // A replica may log one more line in the millisecond in which it is struck.
  return last && deadly.has(last.what) && last.atMs >= atMs - 50 ? last : undefined
}

/** When a replica could first resume it: the earliest `ready` among the replicas that worked until then. */
function heirReadyMs(logs: readonly LogLine[], blows: readonly Blow[], resumed: LogLine): number {
  const ready = logs.filter(({ msg, atMs }) => msg === 'ready' && atMs <= resumed.atMs)
  const worked = ready.filter(({ replica, atMs }) => {
    const later = ready.some(other => other.replica === replica && other.atMs > atMs)
    const struck = blows.some(
      blow => blow.replica === replica && blow.atMs >= atMs && blow.atMs <= resumed.atMs && blow.what.startsWith('SIG'),
    )
    return !later && !struck
  })
  return worked.length === 0 ? resumed.atMs : Math.min(...worked.map(({ atMs }) => atMs))
}

/**
 * A replica struck between taking a lease and claiming with it leaves a lease that no evidence shows. It expires as any
 * other lease. A replica claims one at a time, so each blow may delay one more operation, and no more.
 */
function unlessTaken(limitMs: number): (takeover: Takeover) => boolean {
  const counted = new Set<Blow>()
  return ({ atMs, amid }) => {
    const blow = amid.findLast(blow => !counted.has(blow) && atMs - blow.atMs <= limitMs)
    if (blow) counted.add(blow)
    return blow === undefined
  }
}

/** I7: a take-over takes no longer than TTL, scan interval and a second. */
export function checkI7(evidence: Evidence, parsed: ParsedHistory): Violation[] {
  const { terms, expects } = evidence
  if (expects.clocksStep) return []
  const more = (expects.takeoverMs ?? 0) + (expects.redisLoss ? longestRequestMs + terms.ttlMs : 0)
  const limitMs = terms.ttlMs + terms.scanMs + slackMs + more
  return takeoversOf(evidence, parsed)
    .filter(({ ms }) => ms > limitMs)
    .filter(unlessTaken(limitMs))
    .map(
      ({ user, op, from, to, ms }) =>
        `I7 op ${op} of ${user} waited ${ms} ms from ${from} to ${to}, promised are ${limitMs}`,
    )
}
