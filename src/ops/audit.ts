/**
 * Writes the audit log's lines of operations. Notes in Redis keep any from being lost: the script that accepts or ends an
 * operation leaves a note; the replica that called it writes the line and removes the note. If the note stays, any replica
 * writes the line late. So each line is written at least once, with the same id.
 */
import type { Clock } from '../base/clock.ts'
import type { OperationKind } from '../base/domain.ts'
import { logUnexpected } from '../base/log.ts'
import { jittered, Loop, type Rest } from '../base/loop.ts'
import type { Source } from '../base/source.ts'
import { labNames } from '../labs/names.ts'
import { formatNote, type Note, type NoteResult, type NoteStore } from '../store/notes.ts'
import type { Actor, AuditEvent, AuditLog } from '../telemetry/audit.ts'
import { RefusalFlood } from '../telemetry/audit-flood.ts'
import type { Logger } from '../telemetry/log.ts'

/** The origin of an operation, as its record keeps it. */
export interface By {
  readonly user: string
  readonly actor: Actor
  readonly from?: Source | undefined
  readonly requestId?: string | undefined
  readonly traceId?: string | undefined
  /** Why the controller began it without a request. */
  readonly reason?: string | undefined
}

export interface AuditorOptions {
  readonly audit: AuditLog
  readonly notes: NoteStore
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'error'>
}

/** The audit log, as other parts use it. */
export interface Auditor {
  /** The origin of an operation as text for its record; '' without an audit log. */
  by(by: By): string
  /** An operation was accepted, or has ended. */
  operation(op: number, kind: OperationKind, result: NoteResult, by: string | undefined, late?: true): void
  /** Any other outcome of a request. */
  request(event: AuditEvent): void
}

/** For replicas without an audit log. */
export const noAudit: Auditor = { by: () => '', operation: () => {}, request: () => {} }

/** How often a replica looks for notes that were left. */
export const sweepMs = 5_000
/** How long the removal of a note waits, so that several are removed by one command. */
const dropAfterMs = 50
const sweepRest = (): Rest => ({ ms: jittered(sweepMs, 0.2) })
const maxTaken = 100
const maxDropped = 500

export class AuditTrail implements Auditor {
  readonly #options: AuditorOptions
  readonly #flood: RefusalFlood
  readonly #unremoved = new Set<string>()
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
        logUnexpected(log, error, 'notes of the audit log cannot be read')
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
    // If the line could not be written, its note stays for another replica.
    if (written && by !== '') this.#drop(formatNote({ op, kind, result, by }))
  }

  request(event: AuditEvent): void {
    if (event.result === 'refused' || event.result === 'failed') this.#flood.write(event)
    else this.#options.audit.write(event)
  }

  start(): void {
    this.#loop.start(sweepRest())
  }

  /** Writes lines for refusals that were only counted. */
  flush(): void {
    this.#flood.flush()
  }

  /** As `flush`, and removes the notes of written lines. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop()
    this.flush()
    await Promise.all([stopped, this.#dropping])
  }

  /** Writes lines for notes that other replicas left. */
  async sweep(): Promise<void> {
    const notes: Note[] = await this.#options.notes.take(maxTaken)
    for (const { op, kind, result, by } of notes) {
      // The controller's own operations have no earlier line, so theirs is not late.
      const isOwn = readBy(by).actor?.kind === 'controller' && result === 'accepted'
      this.operation(op, kind, result, by, isOwn ? undefined : true)
    }
  }

  /** Does not wait. If a note cannot be removed, its line is written again with the same id. */
  #drop(note: string): void {
    this.#unremoved.add(note)
    this.#dropping ??= this.#dropSoon().finally(() => {
      this.#dropping = undefined
    })
  }

  async #dropSoon(): Promise<void> {
    const { clock, notes, log } = this.#options
    while (this.#unremoved.size > 0) {
      await clock.sleep(dropAfterMs, this.#loop.signal).catch(() => {})
      const removed = [...this.#unremoved].slice(0, maxDropped)
      for (const note of removed) this.#unremoved.delete(note)
      await notes
        .drop(removed)
        .catch(error => log.warn({ err: error, notes: removed.length }, 'audit notes stay in Redis'))
    }
  }
}

/** Parses the origin in a record or a note. It is empty if a release without an audit log wrote it. */
function readBy(text: string): Partial<By> {
  try {
    const by: unknown = JSON.parse(text)
    return typeof by === 'object' && by !== null ? (by as Partial<By>) : {}
  } catch {
    return {}
  }
}

/** The origin of an operation whose record has none: a release without an audit log accepted it. */
export function byUnknown(audit: Auditor, user: string): string {
  return audit.by({ user, actor: { kind: 'unknown' } })
}

/** The origin of an operation that the controller begins by itself. */
export function byController(audit: Auditor, user: string, reason: string): string {
  return audit.by({ user, actor: { kind: 'controller' }, reason })
}
