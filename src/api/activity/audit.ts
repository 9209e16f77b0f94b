/**
 * Writes one line of the audit log for each request to keep a workload or to end that, and for activity that an administrator
 * reports of somebody else's. Activity of one's own is evidence and no change: it is in the log of requests.
 */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { trustIn } from '../../base/source.ts'
import type { WorkloadKind } from '../../config/idle.ts'
import type { Actor, AuditAction, AuditEvent, AuditObject } from '../../telemetry/audit.ts'
import type { Origin } from '../../telemetry/tracing.ts'
import { actorOf, RequestDraft } from '../request/draft.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { whence } from '../request/whence.ts'
import { type ActivityParts, type Audience, audiences, namesOf, prefixes } from './parts.ts'

/** The lines of routes by method and end of the path. */
const actions: Readonly<Record<string, AuditAction>> = {
  'POST keep-alive': 'activity.keep',
  'DELETE keep-alive': 'activity.release',
  'POST activity': 'activity.push',
}

/** The line of a route; undefined for one without. */
export function auditedAction(method: string, pattern: string): AuditAction | undefined {
  const action = actions[`${method} ${pattern.slice(pattern.lastIndexOf('/') + 1)}`]
  return action === 'activity.push' && audienceOf(pattern) !== 'admin' ? undefined : action
}

const audienceOf = (pattern: string): Audience | undefined =>
  audiences.find(audience => pattern.startsWith(`${prefixes[audience]}/`))

const actors = { user: 'user', admin: 'administrator' } as const
const scopes = { user: 'exec:notebook', admin: 'admin:jupyterlab' } as const

class KeepDraft extends RequestDraft {
  readonly #event: Pick<AuditEvent, 'action' | 'from' | 'object'>
  readonly #audience: Audience
  readonly #provider: string
  #until: string | undefined

  constructor(
    event: Pick<AuditEvent, 'action' | 'from' | 'object'>,
    audience: Audience,
    provider: string,
    origin: Origin,
  ) {
    super(origin)
    this.#event = event
    this.#audience = audience
    this.#provider = provider
  }

  kept(until: string): void {
    this.#until = until
  }

  line(status: number, error: Error | undefined): AuditEvent {
    const object = { ...this.#event.object, until: this.#until }
    return { ...this.#event, object, actor: this.#actor(), ...this.ended(status, error) }
  }

  #actor(): Actor {
    const [caller, audience, provider] = [this.caller, this.#audience, this.#provider]
    if (audience !== 'lab') return actorOf(caller, { kind: actors[audience], scope: scopes[audience], provider })
    return caller ? { kind: 'lab', name: caller.username } : { kind: 'anonymous' }
  }
}

export const keepDraft = (c: Context<ApiEnv>): KeepDraft | undefined => c.get('audit') as KeepDraft | undefined

/** Middleware outside of all that may refuse a request of a route. */
export function auditActivity({ config }: Pick<CommonParts, 'config'>, auditor: ActivityParts['auditor']) {
  const isTrusted = trustIn(config.audit.trustedProxies)
  return createMiddleware<ApiEnv>(async function auditActivity(c, next) {
    const pattern = routePath(c, -1)
    const action = auditedAction(c.req.method, pattern)
    const audience = audienceOf(pattern)
    if (!action || !audience) return next()
    const object = objectIn(c, audience, pattern)
    const event = { action, from: whence(c, isTrusted), object }
    const draft = new KeepDraft(event, audience, config.identity.provider, c.get('origin'))
    c.set('audit', draft)
    await next()
    auditor.request(draft.line(c.res.status, c.error))
  })
}

/** The workload in a path that is known to be decodable, as sent. */
function objectIn(c: Context<ApiEnv>, audience: Audience, pattern: string): AuditObject {
  const path = (c.env?.head?.path ?? '').slice(prefixes[audience].length + 1).split('/')
  const kind = audience === 'lab' ? 'lab' : (pattern.slice(prefixes[audience].length + 1).split('/')[0] as WorkloadKind)
  const from = audience === 'lab' ? 0 : 1
  const id = path
    .slice(from, from + namesOf[kind].length)
    .map(decodeURIComponent)
    .join('/')
  return kind === 'lab' ? { kind, user: id } : { kind, name: id }
}
