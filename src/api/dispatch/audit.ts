/** Writes one line of the audit log for each request that changes a container or a machine. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { trustIn } from '../../base/source.ts'
import type { Actor, AuditAction, AuditEvent, AuditObject } from '../../telemetry/audit.ts'
import type { Origin } from '../../telemetry/tracing.ts'
import { actorOf, RequestDraft } from '../request/draft.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { whence } from '../request/whence.ts'
import { audiences, type DispatchApiParts, type DispatchAudience, managementRoot, prefixes } from './parts.ts'

/** Every route that changes something, by method and path after the prefix. */
export const containerChanges: Readonly<Record<string, AuditAction>> = {
  'POST /containers': 'container.create',
  'PATCH /containers/:uuid': 'container.change',
  'DELETE /containers/:uuid': 'container.cancel',
}
/** The same of operators. */
export const managementChanges: Readonly<Record<string, AuditAction>> = {
  'POST /containers/kill': 'container.cancel',
  'POST /instances/hold': 'instance.hold',
  'POST /instances/drain': 'instance.drain',
  'POST /instances/run': 'instance.run',
  'POST /instances/kill': 'instance.kill',
}

const kinds = { user: 'user', admin: 'administrator' } as const satisfies Record<DispatchAudience, Actor['kind']>
const scopes = { user: 'exec:notebook', admin: 'admin:jupyterlab' } as const

type Audience = DispatchAudience | 'operator'
type Begun = Pick<AuditEvent, 'action' | 'from'> & { readonly object: AuditObject }

export class DispatchDraft extends RequestDraft {
  readonly #begun: Begun
  readonly #audience: Audience
  readonly #provider: string
  #name: string | undefined
  #stated: string | undefined
  #operator = false

  constructor(begun: Begun, audience: Audience, provider: string, origin: Origin) {
    super(origin)
    this.#begun = begun
    this.#audience = audience
    this.#provider = provider
    this.#name = begun.object.name
  }

  /** Records what the request is about. */
  names(name: string, stated?: string): void {
    this.#name = name
    this.#stated = stated || undefined
  }

  /** The token of operators was shown. */
  isOperator(): void {
    this.#operator = true
  }

  line(status: number, error: Error | undefined): AuditEvent {
    const { object, ...event } = this.#begun
    const stated = this.#stated === undefined ? {} : { stated: this.#stated }
    return {
      ...event,
      object: { ...object, name: this.#name },
      actor: this.#actor(),
      ...stated,
      ...this.ended(status, error),
    }
  }

  #actor(): Actor {
    if (this.#audience === 'operator') return { kind: this.#operator ? 'operator' : 'anonymous' }
    const [audience, provider] = [this.#audience, this.#provider]
    return actorOf(this.caller, { kind: kinds[audience], scope: scopes[audience], provider })
  }
}

export const dispatchDraft = (c: Context<ApiEnv>): DispatchDraft | undefined =>
  c.get('audit') as DispatchDraft | undefined

/** Middleware outside of all that may refuse a request of a route. A request without a route is no change. */
export function auditDispatch({ config }: Pick<CommonParts, 'config'>, auditor: DispatchApiParts['auditor']) {
  const isTrusted = trustIn(config.audit.trustedProxies)
  return createMiddleware<ApiEnv>(async function auditDispatch(c, next) {
    const change = changeIn(c)
    if (!change) return next()
    const { action, audience, object } = change
    const begun: Begun = { action, from: whence(c, isTrusted), object }
    const draft = new DispatchDraft(begun, audience, config.identity.provider, c.get('origin'))
    c.set('audit', draft)
    await next()
    auditor.request(draft.line(c.res.status, c.error))
  })
}

interface Change {
  readonly action: AuditAction
  readonly audience: Audience
  readonly object: AuditObject
}

function changeIn(c: Context<ApiEnv>): Change | undefined {
  const pattern = routePath(c, -1)
  const { method } = c.req
  if (pattern.startsWith(`${managementRoot}/`)) {
    const action = managementChanges[`${method} ${pattern.slice(managementRoot.length)}`]
    return action && { action, audience: 'operator', object: { kind: action.split('.')[0]! } }
  }
  const audience = audiences.find(each => pattern.startsWith(`${prefixes[each]}/`))
  const action = audience && containerChanges[`${method} ${pattern.slice(prefixes[audience].length)}`]
  if (!audience || !action) return undefined
  // A new container has no name yet. The path is known to be decodable.
  const [, , uuid] = (c.env?.head?.path ?? '').slice(prefixes[audience].length).split('/')
  return { action, audience, object: { kind: 'container', ...(uuid && { name: decodeURIComponent(uuid) }) } }
}
