/** Converts records between Redis' flat hashes of strings and types. */
import type { LabEvent, LabStatus, LabView, OperationKind } from '../base/domain.ts'
import { parseView } from '../labs/view.ts'
import { pairs } from './fields.ts'

/** The latest operation of a subject of any kind. Times are Redis' clock, in milliseconds. */
export interface OperationRecord {
  readonly op: number
  readonly kind: OperationKind
  readonly status: LabStatus
  /** The operation has not ended. */
  readonly active: boolean
  readonly nonce: string
  readonly token: string
  readonly claims: number
  readonly attempts: number
  /** True if the next step is an act that may have begun: then a claim counts as an attempt. */
  readonly acting: boolean
  /** The name of the next step; '' is the first. */
  readonly step: string
  readonly seq: number
  readonly progress: number
  readonly acceptedAtMs: number
  readonly failedAtMs: number
  readonly sealedPlan: string | undefined
  /** The reason why a creation fails, set before any of its objects is removed. */
  readonly failing: string | undefined
  /** The last operation failed, and its objects may remain and must be removed. */
  readonly remains?: boolean
  /** The id of the request that the operation comes from; undefined for the controller's own operations. */
  readonly requestId: string | undefined
  readonly traceparent: string | undefined
  /** The origin of this operation for the audit log; undefined if the record has none. */
  readonly by?: string | undefined
}

/** A user's lab and its latest operation. */
export interface LabRecord extends OperationRecord {
  readonly view: LabView
  readonly namespaceUid: string | undefined
  readonly podUid: string | undefined
  readonly podPresent: boolean
  /** UID of a quota that an operation found to count wrongly. It may be one of an older operation: no other object has it. */
  readonly miscounted?: string | undefined
  /** The token with which the lab's own API is asked, sealed (`credential.ts`). */
  readonly credential?: string | undefined
  /** When the deletion was requested because nobody used the lab; undefined for any other. */
  readonly culledMs?: number | undefined
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

/** Reads a stored view; an unreadable one becomes a blank view of that user. */
export const readView = (json: string | undefined, username: string): LabView =>
  parseView(json) ?? { ...blank, username }

/** Reads the fields that records of all kinds have. */
export function parseOperation(fields: ReadonlyMap<string, string>): OperationRecord {
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
    sealedPlan: text('plan'),
    failing: text('failing'),
    // It names the op, so that later operations need not clear it.
    remains: fields.get('remains') === fields.get('op'),
    requestId: text('requestId'),
    traceparent: text('traceparent'),
    by: ofOp(fields.get('op')!, fields.get('by')),
  }
}

/** @returns null for an empty hash, which is no record */
export function parseRecord(flat: readonly string[], user: string): LabRecord | null {
  const fields = pairs(flat)
  return fields.has('op') ? labForm.parse(fields, user) : null
}

/**
 * The value of a field that begins with its op: a release without this field, or an operation that does not write it, leaves an
 * older operation's value.
 */
function ofOp(op: string, kept = ''): string | undefined {
  return kept.startsWith(`${op} `) ? kept.slice(op.length + 1) : undefined
}

function culledAt(ms: string | undefined): number | undefined {
  return ms !== undefined && /^[1-9][0-9]{0,14}$/.test(ms) ? Number(ms) : undefined
}

/** Fields of a record of any kind that an owner may set. */
export interface OperationFields {
  readonly step?: string
  readonly acting?: boolean
  readonly attempts?: number
  readonly progress?: number
  readonly failing?: string
  /** The operation's own op. */
  readonly remains?: number
}

/** Fields of a lab's record that an owner or a compare may set. */
export interface LabFields extends OperationFields {
  readonly namespaceUid?: string
  readonly podUid?: string
  readonly podPresent?: boolean
  readonly view?: LabView
  readonly miscounted?: string
  readonly credential?: string
}

/** Reads and writes the records of a kind. */
export interface RecordForm<R extends OperationRecord, F extends OperationFields> {
  /**
   * Must not throw: an operation whose record cannot be read is tried once in a TTL for ever.
   * @param fields all fields of an existing record
   */
  parse(fields: ReadonlyMap<string, string>, name: string): R
  /** Fields whose names in Redis are other ones. */
  readonly names: Readonly<Partial<Record<keyof F, string>>>
}

/** The records of labs. */
export const labForm: RecordForm<LabRecord, LabFields> = {
  parse: (fields, user) => ({
    ...parseOperation(fields),
    view: readView(fields.get('view'), user),
    namespaceUid: fields.get('nsUid') || undefined,
    podUid: fields.get('podUid') || undefined,
    podPresent: fields.get('pod') === '1',
    miscounted: fields.get('miscounted') || undefined,
    credential: fields.get('credential') || undefined,
    culledMs: culledAt(ofOp(fields.get('op')!, fields.get('cull'))),
  }),
  names: { namespaceUid: 'nsUid', podPresent: 'pod' },
}

/** Fields that scripts alone write: they identify the operation and its owner, and decide what may be written. */
const guarded = new Set([
  ...'op kind status active nonce token claims seq acceptedAt deadline failedAt epoch'.split(' '),
  ...'plan endedBy requestId traceparent by provisions cull'.split(' '),
])

/**
 * The flat JSON list that commands take.
 * @param names of fields that have another name in Redis
 * @throws if a field is one that only scripts write
 */
export function encodeFields(fields: object, names: Readonly<Partial<Record<string, string>>>): string {
  const encode = (value: unknown) =>
    typeof value === 'boolean'
      ? value
        ? '1'
        : '0'
      : (typeof value === 'object' ? JSON.stringify(value) : String(value)).toWellFormed()
  const pairsOf = ([field, value]: readonly [string, unknown]) => {
    const name = names[field] ?? field
    if (guarded.has(name)) throw new Error(`no step may set the field ${name}`)
    return [name, encode(value)]
  }
  return JSON.stringify(Object.entries(fields).flatMap(pairsOf))
}

export type NewEvent = readonly [type: LabEvent['event'], data: string]

/** Redis' JSON refuses half a surrogate pair, which a cut in a container's output may leave. */
export const encodeEvents = (events: readonly NewEvent[]) =>
  JSON.stringify(events.map(([type, data]) => [type, data.toWellFormed()]))

/** Reads an entry of a stream: [id, [field, value, …]]. */
export function parseEvent([id, flat]: readonly [string, string[]]): LabEvent {
  const fields = pairs(flat)
  return { id, event: fields.get('event') as LabEvent['event'], data: fields.get('data') ?? '' }
}
