/** Records as Redis holds them: flat hashes of strings, read into types. */
import type { LabEvent, LabStatus, LabView, OperationKind } from '../base/domain.ts'
import { parseView } from '../labs/view.ts'

/** A user's lab and its latest operation. Times are Redis' clock, in milliseconds. */
export interface LabRecord {
  readonly op: number
  readonly kind: OperationKind
  readonly status: LabStatus
  /** The operation has not ended. */
  readonly active: boolean
  readonly nonce: string
  readonly token: string
  readonly claims: number
  readonly attempts: number
  /** Whether the next step is an act that may have begun: then a claim counts as an attempt. */
  readonly acting: boolean
  /** The name of the next step; '' is the first. */
  readonly step: string
  readonly seq: number
  readonly progress: number
  readonly acceptedAtMs: number
  readonly failedAtMs: number
  readonly view: LabView
  readonly sealedPlan: string | undefined
  readonly namespaceUid: string | undefined
  readonly podUid: string | undefined
  readonly podPresent: boolean
  /** Set once a creation is to end failed, before anything it made is destroyed: the reason. */
  readonly failing: string | undefined
  /** Its last operation failed, and objects may remain that are to be removed. */
  readonly remains?: boolean
  /** Of the request that the operation comes from; undefined where nobody asked for it. */
  readonly requestId: string | undefined
  readonly traceparent: string | undefined
  /** Who asked for this very operation, as the audit log tells it; undefined where the record does not say. */
  readonly by?: string | undefined
}

const blank: LabView = {
  username: '',
  options: {},
  env: {},
  uid: 0,
  gid: 0,
  groups: [],
  quotas: { limits: { cpu: 0, memory: 0 }, requests: { cpu: 0, memory: 0 } },
  internalUrl: '',
}

/** A view as it is kept; what cannot be read leaves a blank for that user. */
export const readView = (json: string | undefined, username: string): LabView =>
  parseView(json) ?? { ...blank, username }

/** Pairs as Redis gives them: [name, value, name, value, …]. */
export function pairs(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(flat[i]!, flat[i + 1]!)
  return fields
}

/** @returns null for an empty hash, which is no record */
export function parseRecord(flat: readonly string[], user: string): LabRecord | null {
  const fields = pairs(flat)
  if (!fields.has('op')) return null
  const text = (name: string) => fields.get(name) || undefined
  const number = (name: string) => Number(fields.get(name) ?? 0)
  return {
    op: number('op'),
    kind: fields.get('kind') as OperationKind,
    status: fields.get('status') as LabStatus,
    active: fields.get('active') === '1',
    nonce: fields.get('nonce') ?? '',
    token: fields.get('token') ?? '',
    claims: number('claims'),
    attempts: number('attempts'),
    acting: fields.get('acting') === '1',
    step: fields.get('step') ?? '',
    seq: number('seq'),
    progress: number('progress'),
    acceptedAtMs: number('acceptedAt'),
    failedAtMs: number('failedAt'),
    view: readView(fields.get('view'), user),
    sealedPlan: text('plan'),
    namespaceUid: text('nsUid'),
    podUid: text('podUid'),
    podPresent: fields.get('pod') === '1',
    failing: text('failing'),
    // By the op, so that no later operation need clear it.
    remains: fields.get('remains') === fields.get('op'),
    requestId: text('requestId'),
    traceparent: text('traceparent'),
    by: byOf(fields.get('op')!, fields.get('by')),
  }
}

/** A release that knows nothing of the field leaves what an older operation had. */
function byOf(op: string, kept = ''): string | undefined {
  return kept.startsWith(`${op} `) ? kept.slice(op.length + 1) : undefined
}

/** What an owner or a compare may set of a record. */
export interface RecordFields {
  readonly step?: string
  readonly acting?: boolean
  readonly attempts?: number
  readonly progress?: number
  readonly namespaceUid?: string
  readonly podUid?: string
  readonly podPresent?: boolean
  readonly failing?: string
  /** The operation's own op. */
  readonly remains?: number
  readonly view?: LabView
}

const names = { namespaceUid: 'nsUid', podPresent: 'pod' } as Record<string, string>

/** The flat JSON list that commands take. */
export function encodeFields(fields: RecordFields): string {
  const encode = (value: unknown) =>
    typeof value === 'boolean'
      ? value
        ? '1'
        : '0'
      : (typeof value === 'object' ? JSON.stringify(value) : String(value)).toWellFormed()
  return JSON.stringify(Object.entries(fields).flatMap(([name, value]) => [names[name] ?? name, encode(value)]))
}

export type NewEvent = readonly [type: LabEvent['event'], data: string]

/** Half a surrogate pair, as a cut in a container's last words may leave, is no JSON for Redis. */
export const encodeEvents = (events: readonly NewEvent[]) =>
  JSON.stringify(events.map(([type, data]) => [type, data.toWellFormed()]))

/** An entry of a stream: [id, [field, value, …]]. */
export function parseEvent([id, flat]: readonly [string, string[]]): LabEvent {
  const fields = pairs(flat)
  return { id, event: fields.get('event') as LabEvent['event'], data: fields.get('data') ?? '' }
}
