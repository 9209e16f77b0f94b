/** Writes one line of the audit log for each request that changes an app or a template, or ends sessions. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { trustIn } from '../../base/source.ts'
import type { Actor, AuditAction, AuditEvent, AuditObject } from '../../telemetry/audit.ts'
import type { Origin } from '../../telemetry/tracing.ts'
import { actorOf, RequestDraft } from '../request/draft.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { whence } from '../request/whence.ts'
import { type AppAudience, type AppsApiParts, audiences, prefixes, type Revocation } from './parts.ts'

/** Every route that changes something, by method and path after the prefix. */
export const appChanges: Readonly<Record<string, AuditAction>> = {
  'POST /apps': 'app.create',
  'PATCH /apps/:id': 'app.change',
  'DELETE /apps/:id': 'app.delete',
  'POST /apps/:id/start': 'app.start',
  'POST /apps/:id/stop': 'app.stop',
  'PUT /templates/:id': 'template.put',
  'DELETE /templates/:id': 'template.delete',
  'DELETE /sessions': 'session.revoke',
}

const actors = { user: 'user', admin: 'administrator' } as const satisfies Record<AppAudience, Actor['kind']>
const scopes = { user: 'exec:notebook', admin: 'admin:jupyterlab' } as const

export class AppDraft extends RequestDraft {
  readonly #event: Pick<AuditEvent, 'action' | 'from'>
  readonly #audience: AppAudience
  readonly #provider: string
  #object: AuditObject

  constructor(
    { object, ...event }: Pick<AuditEvent, 'action' | 'from' | 'object'>,
    audience: AppAudience,
    provider: string,
    origin: Origin,
  ) {
    super(origin)
    this.#event = event
    this.#object = object
    this.#audience = audience
    this.#provider = provider
  }

  /** Records whose sessions are to end. */
  revokes({ user, appId }: Revocation): void {
    this.#object = { ...this.#object, user, name: appId }
  }

  /** Records the app that a body names. */
  names(id: string): void {
    this.#object = { ...this.#object, name: id }
  }

  line(status: number, error: Error | undefined): AuditEvent {
    const [audience, provider] = [this.#audience, this.#provider]
    const actor = actorOf(this.caller, { kind: actors[audience], scope: scopes[audience], provider })
    return { ...this.#event, object: this.#object, actor, ...this.ended(status, error) }
  }
}

export const appDraft = (c: Context<ApiEnv>): AppDraft | undefined => c.get('audit') as AppDraft | undefined

/** Middleware outside of all that may refuse a request of a route. A request without a route is no change. */
export function auditApps({ config }: Pick<CommonParts, 'config'>, auditor: AppsApiParts['auditor']) {
  const isTrusted = trustIn(config.audit.trustedProxies)
  return createMiddleware<ApiEnv>(async function auditApps(c, next) {
    const pattern = routePath(c, -1)
    const audience = audiences.find(each => pattern.startsWith(`${prefixes[each]}/`))
    const route = audience && pattern.slice(prefixes[audience].length)
    const action = appChanges[`${c.req.method} ${route}`]
    if (!audience || !action) return next()
    const event = { action, from: whence(c, isTrusted), object: objectIn(c, audience, action) }
    const draft = new AppDraft(event, audience, config.identity.provider, c.get('origin'))
    c.set('audit', draft)
    await next()
    auditor.request(draft.line(c.res.status, c.error))
  })
}

/** The app or the template in a path that is known to be decodable, as sent. */
function objectIn(c: Context<ApiEnv>, audience: AppAudience, action: AuditAction): AuditObject {
  if (action === 'session.revoke') return { kind: 'session' }
  const kind = action.startsWith('template.') ? 'template' : 'app'
  // A new app is named by the body.
  if (action === 'app.create') return { kind }
  const [, , id = ''] = (c.env?.head?.path ?? '').slice(prefixes[audience].length).split('/')
  return { kind, name: decodeURIComponent(id) }
}
