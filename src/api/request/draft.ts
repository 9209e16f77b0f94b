/** The common part of the audit log's lines for requests that change something: who asked, and how it ended. */
import type { Identity } from '../../base/domain.ts'
import type { Actor, AuditEvent } from '../../telemetry/audit.ts'
import { type Origin, originFields } from '../../telemetry/tracing.ts'
import type { AuditDraft } from './env.ts'
import { toApiError } from './errors.ts'

/** The data of a request, collected until it is answered. */
export class RequestDraft implements AuditDraft {
  readonly #origin: Origin
  #caller: Identity | undefined

  constructor(origin: Origin) {
    this.#origin = origin
  }

  identified(caller: Identity): Origin {
    this.#caller = caller
    return this.#origin
  }

  get caller(): Identity | undefined {
    return this.#caller
  }

  /** @param status of the answer. @param error its cause, if it is a refusal */
  ended(status: number, error: Error | undefined): Pick<AuditEvent, 'result' | 'reason' | 'request'> {
    const { requestId, traceId } = originFields(this.#origin.requestId, this.#origin.span.traceparent)
    const failed = status < 500 ? 'refused' : 'failed'
    return {
      result: status < 400 ? 'accepted' : failed,
      reason: status < 400 ? undefined : (toApiError(error)?.detail[0]?.type ?? 'internal'),
      request: { id: requestId, trace: traceId, status },
    }
  }
}

/**
 * The person who asked.
 * @param kind of one whom the scope lets in
 */
export function actorOf(
  caller: Identity | undefined,
  { kind, scope, provider }: { readonly kind: Actor['kind']; readonly scope: string; readonly provider: string },
): Actor {
  if (!caller) return { kind: 'anonymous' }
  const letIn = caller.scopes.includes(scope)
  return { kind: letIn ? kind : 'user', name: caller.username, scope: letIn ? scope : undefined, provider }
}
