/** Checks of accepted and refused requests: I3, I6 and I8. */
import { labNames } from '../../../src/labs/names.ts'
import {
  type Evidence,
  isTerminal,
  type LogLine,
  opOf,
  type ParsedHistory,
  type StreamEvent,
  streamsOf,
  type Violation,
} from '../evidence/evidence.ts'
import type { Call } from '../evidence/history.ts'

/** One operation, from all evidence that mentions it. */
export interface Operation {
  readonly op: number
  readonly user: string
  readonly kinds: ReadonlySet<string>
  /** One line for each time that a replica logged the acceptance. */
  readonly accepted: readonly LogLine[]
  readonly ended: readonly LogLine[]
  /** In Redis, at rest. */
  readonly stream: readonly StreamEvent[] | undefined
  /** When a client first saw its end. */
  readonly endSeenMs: number | undefined
}

interface Mention {
  readonly user: string
  readonly op: number
  readonly kind?: string | undefined
  readonly line?: LogLine
  readonly stream?: readonly StreamEvent[]
  readonly endSeenMs?: number
}

/** Every operation in the evidence. An op with two users, which breaks a promise, counts as two operations. */
export function operationsOf(evidence: Evidence, parsed: ParsedHistory): readonly Operation[] {
  const groups = Map.groupBy(
    [...inLogs(evidence.logs), ...inStreams(evidence), ...inTranscripts(parsed), ...inAudit(evidence, parsed)],
    ({ user, op }) => `${op} ${user}`,
  )
  return [...groups.values()].map(mentions => {
    const lines = (msg: string) => mentions.flatMap(({ line }) => (line?.msg === msg ? [line] : []))
    const endSeenMs = mentions.flatMap(mention => mention.endSeenMs ?? [])
    return {
      op: mentions[0]!.op,
      user: mentions[0]!.user,
      kinds: new Set(mentions.flatMap(({ kind }) => kind ?? [])),
      accepted: lines('operation accepted'),
      ended: lines('operation ended'),
      stream: mentions.find(({ stream }) => stream)?.stream,
      endSeenMs: endSeenMs.length > 0 ? Math.min(...endSeenMs) : undefined,
    }
  })
}

function inLogs(logs: readonly LogLine[]): Mention[] {
  return logs.flatMap(line =>
    line.user === undefined || line.op === undefined ? [] : [{ user: line.user, op: line.op, kind: line.kind, line }],
  )
}

function inStreams(evidence: Evidence): Mention[] {
  return [...streamsOf(evidence)].flatMap(([user, ops]) =>
    [...ops].map(([op, stream]) => ({ user, op, kind: kindOf(stream), stream })),
  )
}

/** An accepted operation begins its stream with known words; a compare begins one with others. */
function kindOf(stream: readonly StreamEvent[]): string | undefined {
  const first = stream[0]?.data ?? ''
  if (first.startsWith('lab creation initiated')) return 'create'
  return first.startsWith('lab deletion initiated') ? 'delete' : undefined
}

function inTranscripts({ transcripts }: ParsedHistory): Mention[] {
  return transcripts.flatMap(({ user, events }) =>
    events.flatMap(({ id, event, wallMs }) => {
      if (id === undefined) return []
      return [{ user, op: opOf(id).op, ...(isTerminal({ event }) && { endSeenMs: wallMs }) }]
    }),
  )
}

/** The User-Agent names the operation. Only a creation makes objects. */
function inAudit(evidence: Evidence, parsed: ParsedHistory): Mention[] {
  const users = new Map(
    usersOf(evidence, parsed).map(user => [labNames(evidence.terms.namespacePrefix, user).namespace, user]),
  )
  return evidence.audit.flatMap(({ op, namespace, verb }) => {
    const user = users.get(namespace)
    if (op === undefined || user === undefined) return []
    return [{ user, op, kind: verb === 'create' ? 'create' : undefined }]
  })
}

export function usersOf(evidence: Evidence, { calls, transcripts }: ParsedHistory): readonly string[] {
  return [
    ...new Set([
      ...calls.flatMap(({ user }) => user ?? []),
      ...transcripts.map(({ user }) => user),
      ...evidence.logs.flatMap(({ user }) => user ?? []),
      ...streamsOf(evidence).keys(),
    ]),
  ]
}

/** Start and hand-over may take a second more than promised, as with every take-over. */
const slackMs = 1000

/** I3: every accepted operation has one terminal event, in time. */
export function checkI3(evidence: Evidence, parsed: ParsedHistory, operations: readonly Operation[]): Violation[] {
  return [
    ...operations.flatMap(operation => [
      ...endsOnce(operation, evidence),
      ...endsInTime(operation, operations, evidence),
    ]),
    ...commandsOf(parsed).flatMap(commands => lostOf(commands, operations)),
  ]
}

function endsOnce({ op, user, stream, accepted }: Operation, { expects }: Evidence): Violation[] {
  if (!stream) {
    const lost = accepted.length > 0 && !expects.redisLoss && !expects.streamsExpire
    return lost ? [`I3 op ${op} of ${user} was accepted, and has no stream`] : []
  }
  const ends = stream.filter(isTerminal)
  return ends.length === 1
    ? []
    : [`I3 op ${op} of ${user} has ${ends.length} ends: ${stream.map(({ event }) => event).join(' ')}`]
}

function endsInTime(
  { op, user, accepted, ended, kinds, endSeenMs }: Operation,
  all: readonly Operation[],
  { terms, expects }: Evidence,
) {
  const acceptedMs = accepted[0]?.atMs
  if (acceptedMs === undefined || expects.clocksStep) return []
  const superseded = all.filter(other => other.user === user && other.op > op).flatMap(other => other.accepted)
  const ends = [
    ...ended.map(({ atMs }) => atMs),
    ...superseded.map(({ atMs }) => atMs),
    ...(endSeenMs ? [endSeenMs] : []),
  ]
  if (ends.length === 0) return []
  const tookMs = Math.min(...ends) - acceptedMs
  const cleaned = ended.some(({ result }) => result === 'failed') ? terms.deleteMs : 0
  const deadlineMs = kinds.has('create') ? terms.spawnMs + cleaned : terms.deleteMs
  const limitMs = deadlineMs + terms.ttlMs + terms.scanMs + slackMs
  return tookMs > limitMs ? [`I3 op ${op} of ${user} took ${tookMs} ms, promised are ${limitMs}`] : []
}

/** The commands of one kind for one user. */
interface Commands {
  readonly user: string
  readonly kind: 'create' | 'delete'
  /** Accepted by the answers that clients got; one for each `Idempotency-Key`. */
  readonly accepted: number
  /** Accepted ones, and those with an unknown outcome. */
  readonly possible: number
}

function commandsOf({ calls }: ParsedHistory): readonly Commands[] {
  const groups = Map.groupBy(
    calls.filter(({ what, user }) => user !== undefined && (what === 'create' || what === 'delete')),
    ({ what, user }) => `${what} ${user}`,
  )
  return [...groups.values()].map(group => {
    const count = (which: (call: Call) => boolean) =>
      new Set(group.filter(which).map(({ key, id }) => key ?? String(id))).size
    return {
      user: group[0]!.user!,
      kind: group[0]!.what as Commands['kind'],
      accepted: count(({ outcome }) => outcome === 'ok'),
      possible: count(({ outcome }) => outcome !== 'fail'),
    }
  })
}

const acceptedOf = ({ user, kind }: Commands, operations: readonly Operation[]) =>
  operations.filter(operation => operation.user === user && operation.kinds.has(kind))

function lostOf(commands: Commands, operations: readonly Operation[]): Violation[] {
  const { user, kind, accepted } = commands
  // A deletion may join an earlier one that is in progress.
  const due = kind === 'delete' ? Math.min(1, accepted) : accepted
  const found = acceptedOf(commands, operations).length
  return found >= due ? [] : [`I3 of ${accepted} accepted (${kind}) of ${user} only ${found} are known`]
}

/** I6: an op is given out once. */
export function checkI6({ calls }: ParsedHistory, operations: readonly Operation[]): Violation[] {
  const byOp = Map.groupBy(operations, ({ op }) => op)
  const shared = [...byOp].flatMap(([op, of]) =>
    of.length > 1 ? [`I6 op ${op} was given to ${of.map(({ user }) => user).join(', ')}`] : [],
  )
  const twice = operations.flatMap(({ op, user, kinds, accepted }) => {
    if (kinds.size > 1) return [`I6 op ${op} of ${user} was given to a creation and to a deletion`]
    // Two requests with one key may be accepted at once, as one.
    const keyed = calls.some(call => call.user === user && call.key !== undefined)
    return accepted.length > 1 && !keyed ? [`I6 op ${op} of ${user} was given out ${accepted.length} times`] : []
  })
  return [...shared, ...twice]
}

/** I8: a request that was answered with an error was not carried out. Unknown outcomes do not count. */
export function checkI8({ expects }: Evidence, parsed: ParsedHistory, operations: readonly Operation[]): Violation[] {
  if (expects.otherClients) return []
  const asked = commandsOf(parsed)
  const groups = Map.groupBy(
    operations.filter(({ accepted }) => accepted.length > 0),
    ({ user, accepted }) => `${accepted[0]!.kind} ${user}`,
  )
  return [...groups].flatMap(([which, done]) => {
    const commands = asked.find(({ kind, user }) => `${kind} ${user}` === which)
    const possible = commands?.possible ?? 0
    if (done.length <= possible) return []
    return [`I8 ${which}: ${done.length} operations (${done.map(({ op }) => op).join(', ')}), asked for ${possible}`]
  })
}
