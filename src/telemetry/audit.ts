/**
 * The audit log: lines of one form that record actor, action, object, origin and result. docs/audit.md has the schema.
 *
 * A line is one JSON object in ASCII of less than 4096 bytes. Texts of users are cut short and escaped, so that they
 * cannot end a line, begin one, or be mistaken for another field. A line is written before `write` returns.
 */
import { randomUUID } from 'node:crypto'
import { type Logger, pino } from 'pino'
import type { Clock } from '../base/clock.ts'
import type { Source } from '../base/source.ts'
import type { LineSink } from './audit-sinks.ts'
import type { Metrics } from './metrics.ts'
import { withoutSecrets } from './without-secrets.ts'

/** The action. Labels of a metric: a short list, which grows with the program. */
export type AuditAction =
  | 'lab.create'
  | 'lab.delete'
  | 'heal.record'
  | 'heal.counter'
  | 'sudo.grant'
  | 'sudo.end'
  | 'billing.write'
  | 'billing.close'
  | 'activity.push'
  | 'activity.keep'
  | 'activity.release'
  | 'app.create'
  | 'app.start'
  | 'app.stop'
  | 'app.change'
  | 'app.delete'
  | 'template.put'
  | 'template.delete'
  | 'session.revoke'
  | 'session.begin'
  | 'session.end'
  | 'container.create'
  | 'container.change'
  | 'container.cancel'
  | 'container.shell'
  | 'container.port'
  | 'instance.hold'
  | 'instance.drain'
  | 'instance.run'
  | 'instance.kill'
/** `accepted`: it will be done; `refused`: it will not; `succeeded`, `failed`: the final result. */
export type AuditResult = 'accepted' | 'refused' | 'succeeded' | 'failed'

/** The acting user or program. */
export interface Actor {
  /**
   * `lab`: a program in the lab of this user; `anonymous`: a request without a known token; `controller`: this program, by its own rules; `operator`: a person
   * who runs a command of it; `unknown`: the operation was accepted by a release without an audit log.
   */
  readonly kind: 'user' | 'administrator' | 'lab' | 'anonymous' | 'controller' | 'operator' | 'unknown'
  readonly name?: string | undefined
  /** The scope that permitted the request. */
  readonly scope?: string | undefined
  /** The identity provider that vouches for the name. */
  readonly provider?: string | undefined
}

/** The object of the action. */
export interface AuditObject {
  /** `counter`, or the kind of a subject, such as `lab`. */
  readonly kind: string
  /** The user of the lab. */
  readonly user?: string | undefined
  /** Name of the namespace, or of a subject that is no lab. */
  readonly name?: string | undefined
  /** Number of the operation. */
  readonly op?: number | undefined
  /** Id of a grant of sudo with an end. */
  readonly grant?: string | undefined
  /** RFC 3339: until when a workload is kept. */
  readonly until?: string | undefined
}

export interface AuditEvent {
  /** Lines with the same id report the same event. Default: a new id. */
  readonly id?: string | undefined
  readonly action: AuditAction
  readonly result: AuditResult
  /** One word of ours: the type of an error, or a cause. */
  readonly reason?: string | undefined
  readonly actor: Actor
  readonly object: AuditObject
  /** What a person gave as the reason, cut short. */
  readonly stated?: string | undefined
  readonly from?: Source | undefined
  readonly request?:
    | { readonly id?: string | undefined; readonly trace?: string | undefined; readonly status?: number | undefined }
    | undefined
  /** Another replica should have written it earlier, but did not. */
  readonly late?: true | undefined
  /** Number of events of this kind without lines of their own. */
  readonly count?: number | undefined
}

export interface AuditLogOptions {
  readonly replica: string
  readonly installation: string
  readonly clock: Pick<Clock, 'wallMs'>
  /** The first is the proper one; each further one gets the lines that all before it refused. */
  readonly sinks: readonly LineSink[]
  readonly metrics: Pick<Metrics, 'auditEvents' | 'auditWriteFailures'>
  readonly log: Pick<Logger, 'error'>
}

/** Bytes of a name in UTF-8. No lab's user has a longer name. */
const maxNameBytes = 256
/** For texts that we make or check. */
const maxWordBytes = 128
const maxClaimed = 5

export class AuditLog {
  readonly #options: AuditLogOptions
  readonly #lines: Logger
  #written = false

  constructor(options: AuditLogOptions) {
    const { replica, installation, clock } = options
    this.#options = options
    this.#lines = pino(
      {
        level: 'info',
        base: { replica: clip(replica, maxWordBytes), installation },
        // The mark is first, where other logs have their level.
        formatters: { level: () => ({ log: 'audit' }), log: fields => withoutSecrets(fields) as typeof fields },
        timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
      },
      { write: line => this.#put(inAscii(line)) },
    )
  }

  /** @returns whether any sink took the line */
  write(event: AuditEvent): boolean {
    const { action, result, count } = event
    this.#options.metrics.auditEvents.inc({ action, result }, count ?? 1)
    this.#written = false
    this.#lines.info(bounded(event))
    return this.#written
  }

  #put(line: string): void {
    const { sinks, metrics, log } = this.#options
    for (const [index, sink] of sinks.entries()) {
      try {
        sink.write(line)
        this.#written = true
        return
      } catch (error) {
        metrics.auditWriteFailures.inc()
        const left = sinks.length - index - 1
        log.error(
          { err: error, sink: sink.name, left },
          'a line of the audit log could not be written where it belongs',
        )
      }
    }
  }
}

/** Each part in its place, bounded so that the line fits. */
function bounded(event: AuditEvent) {
  const { id, action, result, reason, actor, object, stated, from, request, late, count } = event
  const word = (text: string | undefined) => (text === undefined ? undefined : clip(text, maxWordBytes))
  const name = (text: string | undefined) => (text === undefined ? undefined : clip(text, maxNameBytes))
  return {
    ...{ id: word(id ?? randomUUID()), action, result, reason: word(reason) },
    actor: { kind: actor.kind, name: name(actor.name), scope: word(actor.scope), provider: word(actor.provider) },
    object: {
      kind: object.kind,
      user: name(object.user),
      name: word(object.name),
      op: object.op,
      grant: word(object.grant),
      until: word(object.until),
    },
    stated: word(stated),
    from: from && {
      ...{ address: word(from.address), proxy: word(from.proxy) },
      claimed: from.claimed?.slice(0, maxClaimed).map(address => clip(address, maxWordBytes)),
    },
    request: request && { id: word(request.id), trace: word(request.trace), status: request.status },
    ...{ late, count },
  }
}

/** The first characters of a text, within a number of bytes of UTF-8; a cut text ends in `…`. */
export function clip(text: string, maxBytes: number): string {
  // No character takes less than a byte, so the rest need not be examined.
  const whole = text.slice(0, maxBytes + 1).toWellFormed()
  if (text.length <= maxBytes && Buffer.byteLength(whole) <= maxBytes) return whole
  let bytes = 0
  let clipped = ''
  for (const character of whole) {
    bytes += Buffer.byteLength(character)
    if (bytes > maxBytes - 3) break
    clipped += character
  }
  return `${clipped}…`
}

/** The same JSON without characters that a reader could take for a line end, or display as others. */
function inAscii(line: string): string {
  return line.replace(/[\x7f-\uffff]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
