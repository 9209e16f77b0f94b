/**
 * The audit log's lines of operations, and the notes in Redis by which none of them is lost: the script that accepts or
 * ends an operation leaves a note, the replica that called it writes the line and removes the note. A note that stays is
 * told by any replica, late. So each is told at least once, under the same id.
 */
import type { Clock } from '../base/clock.ts'
import type { OperationKind } from '../base/domain.ts'
import { RetryLater } from '../base/errors.ts'
import { jittered, Loop, type Rest } from '../base/loop.ts'
import { labNames } from '../labs/names.ts'
import { formatNote, type Note, type NoteResult, type NoteStore } from '../store/notes.ts'
import type { Actor, AuditEvent, AuditLog, Source } from '../telemetry/audit.ts'
import { RefusalFlood } from '../telemetry/audit-flood.ts'
import type { Logger } from '../telemetry/log.ts'

/** Who asked for an operation, as its record keeps it. */
export interface By {
  readonly user: string
  readonly actor: Actor
  readonly from?: Source | undefined
  readonly requestId?: string | undefined
  readonly traceId?: string | undefined
  /** Why, where nobody asked. */
  readonly reason?: string | undefined
}

export interface AuditorOptions {
  readonly audit: AuditLog
  readonly notes: NoteStore
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'error'>
}

/** What rooms tell the audit log. */
export interface Auditor {
  /** What a record keeps of who asked; '' where no audit log is written. */
  by(by: By): string
  /** An operation was accepted, or has ended. */
  operation(op: number, kind: OperationKind, result: NoteResult, by: string | undefined, late?: true): void
  /** Anything else that a request came to. */
  request(event: AuditEvent): void
}

/** Where no audit log is written. */
export const noAudit: Auditor = { by: () => '', operation: () => {}, request: () => {} }

/** How often it is looked whether notes were left. */
export const sweepMs = 5_000
/** How long a removal waits for others to be removed with it. */
const dropAfterMs = 50
const sweepRest = (): Rest => ({ ms: jittered(sweepMs, 0.2) })
const maxTaken = 100
const maxDropped = 500

export class AuditTrail implements Auditor {
  readonly #options: AuditorOptions
  readonly #flood: RefusalFlood
  readonly #told = new Set<string>()
  readonly #loop: Loop
  #dropping: Promise<void> | undefined

  constructor(options: AuditorOptions) {
    const { clock, log } = options
    this.#options = options
    this.#loop = new Loop({
      clock,
      round: async () => {
        await this.sweep()
        return sweepRest()
      },
      failed: error => {
        if (!(error instanceof RetryLater)) log.error({ err: error }, 'notes of the audit log cannot be read')
        return sweepRest()
      },
    })
    this.#flood = new RefusalFlood(options)
  }

  by(by: By): string {
    return JSON.stringify(by).toWellFormed()
  }

  operation(op: number, kind: OperationKind, result: NoteResult, by = '', late?: true): void {
    const { user, actor, from, requestId, traceId, reason } = readBy(by)
    const { namespacePrefix } = this.#options
    const name = user === undefined ? undefined : labNames(namespacePrefix, user).namespace
    const why = result === 'superseded' || result === 'overruled' ? result : reason
    const written = this.#options.audit.write({
      id: `${op}-${result === 'accepted' ? result : 'ended'}`,
      action: `lab.${kind}`,
      result: why === result ? 'failed' : (result as AuditEvent['result']),
      reason: why,
      actor: actor ?? { kind: 'unknown' },
      object: { kind: 'lab', user, name, op },
      from,
      request: { id: requestId, trace: traceId },
      late,
    })
    // A note of what could not be written anywhere stays for another replica.
    if (written && by !== '') this.#drop(formatNote({ op, kind, result, by }))
  }

  request(event: AuditEvent): void {
    if (event.result === 'refused' || event.result === 'failed') this.#flood.write(event)
    else this.#options.audit.write(event)
  }

  start(): void {
    this.#loop.start(sweepRest())
  }

  /** Tells what was counted only. */
  flush(): void {
    this.#flood.flush()
  }

  /** As `flush`, and removes the notes of what was told. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop()
    this.flush()
    await Promise.all([stopped, this.#dropping])
  }

  /** Tells what other replicas left. */
  async sweep(): Promise<void> {
    const notes: Note[] = await this.#options.notes.take(maxTaken)
    for (const { op, kind, result, by } of notes) {
      // What this program begins by itself nobody was to tell earlier.
      const isOwn = readBy(by).actor?.kind === 'controller' && result === 'accepted'
      this.operation(op, kind, result, by, isOwn ? undefined : true)
    }
  }

  /** Nobody waits for it. What cannot be removed is told again, under the same id. */
  #drop(note: string): void {
    this.#told.add(note)
    this.#dropping ??= this.#dropSoon().finally(() => {
      this.#dropping = undefined
    })
  }

  async #dropSoon(): Promise<void> {
    const { clock, notes, log } = this.#options
    while (this.#told.size > 0) {
      await clock.sleep(dropAfterMs, this.#loop.signal).catch(() => {})
      const told = [...this.#told].slice(0, maxDropped)
      for (const note of told) this.#told.delete(note)
      await notes.drop(told).catch(error => log.warn({ err: error, notes: told.length }, 'audit notes stay in Redis'))
    }
  }
}

/** What stands in a record, or in a note. A release without an audit log leaves nothing there. */
function readBy(text: string): Partial<By> {
  try {
    const by: unknown = JSON.parse(text)
    return typeof by === 'object' && by !== null ? (by as Partial<By>) : {}
  } catch {
    return {}
  }
}

/** An operation whose record does not say who asked: a release without an audit log accepted it. */
export function byUnknown(audit: Auditor, user: string): string {
  return audit.by({ user, actor: { kind: 'unknown' } })
}

/** An operation that this program begins by its own rules. */
export function byController(audit: Auditor, user: string, reason: string): string {
  return audit.by({ user, actor: { kind: 'controller' }, reason })
}
