/** Writes one line of the audit log for each request for sudo with an end, or for its end. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { trustIn } from '../../base/source.ts'
import type { AuditAction, AuditEvent } from '../../telemetry/audit.ts'
import type { Origin } from '../../telemetry/tracing.ts'
import { actorOf, RequestDraft } from '../request/draft.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
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

export class SudoDraft extends RequestDraft {
  readonly #event: Pick<AuditEvent, 'action' | 'from'>
  readonly #tenant: string
  readonly #provider: string
  #stated: string | undefined
  #grant: { readonly id: string; readonly user: string } | undefined

  constructor(event: Pick<AuditEvent, 'action' | 'from'>, tenant: string, provider: string, origin: Origin) {
    super(origin)
    this.#event = event
    this.#tenant = tenant
    this.#provider = provider
  }

  /** Records what the person gives as the reason. */
  asked({ reason }: { readonly reason: string }): void {
    this.#stated = reason
  }

  granted({ id, user }: { readonly id: string; readonly user: string }): void {
    this.#grant = { id, user }
  }

  line(status: number, error: Error | undefined): AuditEvent {
    return {
      ...this.#event,
      ...this.ended(status, error),
      actor: actorOf(this.caller, { kind: 'user', scope: 'exec:notebook', provider: this.#provider }),
      object: { kind: 'tenant', name: this.#tenant, user: this.#grant?.user, grant: this.#grant?.id },
      stated: this.#stated,
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
