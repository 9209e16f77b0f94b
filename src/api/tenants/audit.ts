/** Writes one line of the audit log for each request for sudo with an end, or for its end. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import type { Identity } from '../../base/domain.ts'
import { trustIn } from '../../base/source.ts'
import type { AuditAction, AuditEvent } from '../../telemetry/audit.ts'
import { type Origin, originFields } from '../../telemetry/tracing.ts'
import type { ApiEnv, AuditDraft, CommonParts } from '../request/env.ts'
import { toApiError } from '../request/errors.ts'
import { whence } from '../request/whence.ts'

/** Gets the lines; refusals may be counted instead. */
export interface SudoAuditor {
  request(event: AuditEvent): void
}

/** Every route that changes something, by method and path after the prefix. */
export const sudoChanges: Readonly<Record<string, AuditAction>> = {
  'POST /:name/sudo': 'sudo.grant',
  'DELETE /:name/sudo': 'sudo.end',
}

/** The data of a request, collected until it is answered. */
export class SudoDraft implements AuditDraft {
  readonly #event: Pick<AuditEvent, 'action' | 'from'>
  readonly #tenant: string
  readonly #provider: string
  readonly #origin: Origin
  #caller: Identity | undefined
  #stated: string | undefined
  #grant: { readonly id: string; readonly user: string } | undefined

  constructor(event: Pick<AuditEvent, 'action' | 'from'>, tenant: string, provider: string, origin: Origin) {
    this.#event = event
    this.#tenant = tenant
    this.#provider = provider
    this.#origin = origin
  }

  identified(caller: Identity): Origin {
    this.#caller = caller
    return this.#origin
  }

  /** Records what the person gives as the reason. */
  asked({ reason }: { readonly reason: string }): void {
    this.#stated = reason
  }

  granted({ id, user }: { readonly id: string; readonly user: string }): void {
    this.#grant = { id, user }
  }

  line(status: number, error: Error | undefined): AuditEvent {
    const caller = this.#caller
    const { requestId, traceId } = originFields(this.#origin.requestId, this.#origin.span.traceparent)
    const scope = 'exec:notebook'
    const letIn = caller?.scopes.includes(scope) ? scope : undefined
    const failed = status < 500 ? 'refused' : 'failed'
    return {
      ...this.#event,
      result: status < 400 ? 'accepted' : failed,
      reason: status < 400 ? undefined : (toApiError(error)?.detail[0]?.type ?? 'internal'),
      actor: caller
        ? { kind: 'user', name: caller.username, scope: letIn, provider: this.#provider }
        : { kind: 'anonymous' },
      object: { kind: 'tenant', name: this.#tenant, user: this.#grant?.user, grant: this.#grant?.id },
      stated: this.#stated,
      request: { id: requestId, trace: traceId, status },
    }
  }
}

export const sudoDraft = (c: Context<ApiEnv>): SudoDraft | undefined => c.get('audit') as SudoDraft | undefined

/** Middleware outside of all that may refuse a request of a route. A request without a route is no change. */
export function auditSudo({ config }: Pick<CommonParts, 'config'>, auditor: SudoAuditor) {
  const { prefix } = config.api
  const isTrusted = trustIn(config.audit.trustedProxies)
  return createMiddleware<ApiEnv>(async function auditSudo(c, next) {
    const path = routePath(c, -1)
    const action = path.startsWith(prefix) ? sudoChanges[`${c.req.method} ${path.slice(prefix.length)}`] : undefined
    if (!action) return next()
    const from = whence(c, isTrusted)
    const tenant = decodeURIComponent(c.env?.head?.path.slice(prefix.length).split('/')[1] ?? '')
    const draft = new SudoDraft({ action, from }, tenant, config.identity.provider, c.get('origin'))
    c.set('audit', draft)
    await next()
    auditor.request(draft.line(c.res.status, c.error))
  })
}
