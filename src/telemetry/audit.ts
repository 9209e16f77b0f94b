/**
 * The audit log: one form of line for who did what to whom, from where, with what result. docs/audit.md has the schema.
 *
 * A line is one JSON object in ASCII of less than 4096 bytes. Whatever people chose in it is cut short and escaped: it ends
 * no line, begins none, and no reader takes it for anything else. A line is written before `write` returns.
 */
import { randomUUID } from 'node:crypto'
import { type Logger, pino } from 'pino'
import type { Clock } from '../base/clock.ts'
import type { LineSink } from './audit-sinks.ts'
import { redact } from './log.ts'
import type { Metrics } from './metrics.ts'

/** What is done. Labels of a metric: a short list, which grows with the program. */
export type AuditAction = 'lab.create' | 'lab.delete' | 'heal.record' | 'heal.counter'
/** `accepted`: it will be done; `refused`: it will not; `succeeded`, `failed`: how it ended. */
export type AuditResult = 'accepted' | 'refused' | 'succeeded' | 'failed'

/** Who does it. */
export interface Actor {
  /**
   * `anonymous`: a request without a known token; `controller`: this program, by its own rules; `operator`: whoever runs a
   * command of it; `unknown`: a release without an audit log accepted it.
   */
  readonly kind: 'user' | 'administrator' | 'anonymous' | 'controller' | 'operator' | 'unknown'
  readonly name?: string | undefined
  /** By which the request was let in. */
  readonly scope?: string | undefined
  /** Which source of identities vouches for the name. */
  readonly provider?: string | undefined
}

/** Where a request comes from. */
export interface Source {
  /** The address that is believed: of the connection, or what trusted proxies say. */
  readonly address?: string | undefined
  /** The other end of the connection, where that is a proxy. */
  readonly proxy?: string | undefined
  /** What X-Forwarded-For says beyond that, the nearest first. Anybody may have written it. */
  readonly claimed?: readonly string[] | undefined
}

/** What it is done to. */
export interface AuditObject {
  readonly kind: 'lab' | 'counter'
  /** Whose. */
  readonly user?: string | undefined
  /** Of the namespace. */
  readonly name?: string | undefined
  /** The operation. */
  readonly op?: number | undefined
}

export interface AuditEvent {
  /** Two lines with the same one tell the same. Default: a new one. */
  readonly id?: string | undefined
  readonly action: AuditAction
  readonly result: AuditResult
  /** One word, of ours: the type of an error, or why. */
  readonly reason?: string | undefined
  readonly actor: Actor
  readonly object: AuditObject
  readonly from?: Source | undefined
  readonly request?:
    | { readonly id?: string | undefined; readonly trace?: string | undefined; readonly status?: number | undefined }
    | undefined
  /** It was to be told earlier, by a replica that did not. */
  readonly late?: true | undefined
  /** So many events of this kind, which have no line of their own. */
  readonly count?: number | undefined
}

export interface AuditLogOptions {
  readonly replica: string
  readonly installation: string
  readonly clock: Pick<Clock, 'wallMs'>
  /** The first is where lines belong; each other one is for lines that those before it did not take. */
  readonly sinks: readonly LineSink[]
  readonly metrics: Pick<Metrics, 'auditEvents' | 'auditWriteFailures'>
  readonly log: Pick<Logger, 'error'>
}

/** Bytes of a name in UTF-8. Names of labs' users have no more. */
const maxNameBytes = 256
/** Of what is made by us, or checked. */
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
        // The mark stands first, where other logs have their level.
        formatters: { level: () => ({ log: 'audit' }) },
        timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
        redact,
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

/** Each part in its place, and none longer than a line has room for. */
function bounded({ id, action, result, reason, actor, object, from, request, late, count }: AuditEvent) {
  const word = (text: string | undefined) => (text === undefined ? undefined : clip(text, maxWordBytes))
  const name = (text: string | undefined) => (text === undefined ? undefined : clip(text, maxNameBytes))
  return {
    ...{ id: word(id ?? randomUUID()), action, result, reason: word(reason) },
    actor: { kind: actor.kind, name: name(actor.name), scope: word(actor.scope), provider: word(actor.provider) },
    object: { kind: object.kind, user: name(object.user), name: word(object.name), op: object.op },
    from: from && {
      ...{ address: word(from.address), proxy: word(from.proxy) },
      claimed: from.claimed?.slice(0, maxClaimed).map(address => clip(address, maxWordBytes)),
    },
    request: request && { id: word(request.id), trace: word(request.trace), status: request.status },
    ...{ late, count },
  }
}

/** The first characters of a text, in so many bytes of UTF-8; what was cut ends in `…`. */
export function clip(text: string, maxBytes: number): string {
  // No character takes less than a byte, so what is longer need not be looked at.
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

/** The same JSON without a character that any reader could take for the end of a line, or show as another one. */
function inAscii(line: string): string {
  return line.replace(/[\x7f-\uffff]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
