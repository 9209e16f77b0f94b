/** The evidence for a judge: clients' requests and answers, the audit log, replicas' logs, and the state at rest. */
import type { Mark } from '../failpoints/arms.ts'
import type { AuditedRequest } from './audit.ts'
import type { Gauges } from './gauges.ts'
import type { Call, Entry, LabValue, Struck, Transcript } from './history.ts'
import { callsOf, strikesOf, transcriptsOf } from './history.ts'

/** A broken invariant, in words that begin with its number, such as `I4 …`. */
export type Violation = string

/** Differences that a test declares about its fleet. */
export interface Expectations {
  /** Redis lost data or went back: streams restart, operations are missing, and replicas wait for former owners. */
  readonly redisLoss?: boolean
  /** Added to the limit of a take-over, if the test itself delays the heirs. */
  readonly takeoverMs?: number
  /** Clocks were stepped: the times of logs prove nothing. */
  readonly clocksStep?: boolean
  /** Redis' clock was stepped forward: streams of labs that are gone have expired. The test itself follows each operation. */
  readonly streamsExpire?: boolean
  /** Other clients than the fleet's also sent creates and deletes. */
  readonly otherClients?: boolean
}

/** The configuration that the checks need. */
export interface Terms {
  readonly installation: string
  readonly namespacePrefix: string
  readonly keyPrefix: string
  readonly ttlMs: number
  readonly scanMs: number
  readonly spawnMs: number
  readonly deleteMs: number
  /** Kinds of subjects beside labs. Their keys are judged with evidence of their own. */
  readonly kinds?: readonly string[]
}

/** A line of a replica's log about an operation, or about the replica's own life. */
export interface LogLine {
  readonly msg: string
  readonly replica: string
  readonly atMs: number
  readonly user?: string | undefined
  readonly op?: number | undefined
  readonly kind?: string | undefined
  readonly result?: string | undefined
}

/** An object of the installation. */
export interface ClusterObject {
  readonly kind: string
  readonly name: string
  /** For a Namespace: its own name. */
  readonly namespace: string
  readonly uid: string
  readonly op: number | undefined
  /** UID of the namespace that owns it. */
  readonly owner: string | undefined
  readonly terminating: boolean
  /** For a Namespace: its user. */
  readonly user: string | undefined
}

export interface RedisKey {
  readonly type: string
  /** -1: for ever. */
  readonly ttlMs: number
  readonly value: RedisValue
}

export interface RedisValue {
  readonly fields?: Readonly<Record<string, string>>
  readonly members?: Readonly<Record<string, number>>
  readonly events?: readonly StreamEvent[]
}

export interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** The answers of one replica at rest. */
export interface Answers {
  readonly replica: string
  readonly list: { readonly status: number; readonly names: readonly string[] }
  readonly labs: Readonly<Record<string, { readonly status: number; readonly lab?: LabValue }>>
}

/** The resources of one replica, at the start of the fleet and at rest; only for replicas that ran all the time. */
export interface Usage {
  readonly replica: string
  readonly before: Gauges
  readonly after: Gauges
}

/** Open watches by the API server's log. */
export interface OpenWatches {
  readonly replica: string
  readonly resource: string
  readonly count: number
}

export interface Evidence {
  readonly terms: Terms
  readonly expects: Expectations
  readonly history: readonly Entry[]
  /** Requests of all clients about the fleet's namespaces, in the order of completion. */
  readonly audit: readonly AuditedRequest[]
  readonly watches: readonly OpenWatches[]
  readonly logs: readonly LogLine[]
  /** Blows of failpoints. */
  readonly marks: readonly (Mark & { readonly effect: string })[]
  readonly cluster: readonly ClusterObject[]
  readonly redis: ReadonlyMap<string, RedisKey>
  readonly answers: readonly Answers[]
  readonly usage: readonly Usage[]
  /** Reasons why the fleet was still busy when the wait for rest ended; empty if it came to rest. */
  readonly restless: readonly string[]
}

/** The history by kinds of entries. */
export interface ParsedHistory {
  readonly calls: readonly Call[]
  readonly transcripts: readonly Transcript[]
  readonly strikes: readonly Struck[]
}

export const parseHistory = (history: readonly Entry[]): ParsedHistory => ({
  calls: callsOf(history),
  transcripts: transcriptsOf(history),
  strikes: strikesOf(history),
})

const terminal = new Set(['complete', 'failed'])
export const isTerminal = ({ event }: { readonly event: string }): boolean => terminal.has(event)

export function opOf(id: string): { readonly op: number; readonly seq: number } {
  const [op, seq] = id.split('-').map(Number)
  return { op: op!, seq: seq! }
}

/** The event streams in Redis, by user and then by op. */
export function streamsOf({
  redis,
  terms,
}: Pick<Evidence, 'redis' | 'terms'>): Map<string, Map<number, StreamEvent[]>> {
  const prefix = `{${terms.keyPrefix}}:events:`
  const streams = new Map<string, Map<number, StreamEvent[]>>()
  for (const [key, { value }] of redis) {
    if (!key.startsWith(prefix)) continue
    streams.set(
      key.slice(prefix.length),
      Map.groupBy(value.events ?? [], ({ id }) => opOf(id).op),
    )
  }
  return streams
}

/** The records in Redis, by user. */
export function recordsOf({
  redis,
  terms,
}: Pick<Evidence, 'redis' | 'terms'>): Map<string, Readonly<Record<string, string>>> {
  const prefix = `{${terms.keyPrefix}}:lab:`
  return new Map(
    [...redis]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { value }]) => [key.slice(prefix.length), value.fields ?? {}]),
  )
}
