/** Writes one line of the audit log for each request for a change: its acceptance, or the reason of its refusal. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import type { Identity, Scope } from '../../base/domain.ts'
import { type Source, trustIn } from '../../base/source.ts'
import type { Auditor } from '../../ops/audit.ts'
import type { Actor, AuditAction, AuditEvent } from '../../telemetry/audit.ts'
import { type Origin, originFields } from '../../telemetry/tracing.ts'
import type { ApiEnv, ApiParts, AuditDraft } from './env.ts'
import { toApiError } from './errors.ts'
import { whence } from './whence.ts'

interface Change {
  readonly action: AuditAction
  readonly scope: Scope
}

/** Every route that changes something, by method and path after the prefix. */
export const changes: Readonly<Record<string, Change>> = {
  'POST /labs/:username/create': { action: 'lab.create', scope: 'exec:notebook' },
  'DELETE /labs/:username': { action: 'lab.delete', scope: 'admin:jupyterlab' },
}

/** The data of a request, collected until it is answered. */
class Draft implements AuditDraft {
  readonly #change: Change
  readonly #user: string
  readonly #provider: string
  readonly #from: Source
  readonly #origin: Origin
  readonly #audit: Auditor
  #caller: Identity | undefined
  #asked: string | undefined
  #accepted: { readonly op: number | undefined; readonly how: 'accepted' | 'joined' | 'repeated' } | undefined

  constructor(change: Change, user: string, provider: string, from: Source, origin: Origin, audit: Auditor) {
    this.#change = change
    this.#user = user
    this.#provider = provider
    this.#from = from
    this.#origin = origin
    this.#audit = audit
  }

  /** Records the caller. @returns the origin for an operation that the request may begin */
  identified(caller: Identity): Origin {
    this.#caller = caller
    return {
      ...this.#origin,
      by: () => this.#by(),
      onAccepted: (op, how) => {
        this.#accepted = { op, how }
      },
    }
  }

  /** Writes the one line. */
  end(status: number, error: Error | undefined): void {
    const { action } = this.#change
    const accepted = this.#accepted
    if (accepted?.how === 'accepted' && accepted.op) {
      this.#audit.operation(accepted.op, action === 'lab.create' ? 'create' : 'delete', 'accepted', this.#by())
      return
    }
    const common = {
      ...{ action, actor: this.#actor(), from: this.#from },
      object: { kind: 'lab' as const, user: this.#user, op: accepted?.op },
    }
    const request = { ...this.#request(), status }
    if (accepted || status < 400) {
      const reason = accepted?.how === 'accepted' ? undefined : accepted?.how
      this.#audit.request({ ...common, result: 'accepted', reason, request })
      return
    }
    const reason = toApiError(error)?.detail[0]?.type ?? 'internal'
    this.#audit.request({ ...common, result: status < 500 ? 'refused' : 'failed', reason, request })
  }

  /** The line names the note in Redis by this text, so the operation gets exactly the same. */
  #by(): string {
    const { id, trace } = this.#request()
    this.#asked ??= this.#audit.by({
      ...{ user: this.#user, actor: this.#actor(), from: this.#from },
      ...{ requestId: id, traceId: trace },
    })
    return this.#asked
  }

  #request(): NonNullable<AuditEvent['request']> {
    const { requestId, traceId } = originFields(this.#origin.requestId, this.#origin.span.traceparent)
    return { id: requestId, trace: traceId }
  }

  #actor(): Actor {
    const caller = this.#caller
    if (!caller) return { kind: 'anonymous' }
    const { scope } = this.#change
    const letIn = caller.scopes.includes(scope)
    return {
      kind: letIn && scope === 'admin:jupyterlab' ? 'administrator' : 'user',
      ...{ name: caller.username, scope: letIn ? scope : undefined, provider: this.#provider },
    }
  }
}

/** Middleware outside of all that may refuse a request of a route. A request without a route is no change. */
export function auditChanges({ config, audit }: Pick<ApiParts, 'config' | 'audit'>) {
  const { prefix } = config.api
  const isTrusted = trustIn(config.audit.trustedProxies)
  return createMiddleware<ApiEnv>(async function auditChanges(c, next) {
    const path = routePath(c, -1)
    const change = path.startsWith(`${prefix}/`) ? changes[`${c.req.method} ${path.slice(prefix.length)}`] : undefined
    if (!change) return next()
    const from = whence(c, isTrusted)
    const draft = new Draft(change, userIn(c, path), config.identity.provider, from, c.get('origin'), audit)
    c.set('audit', draft)
    await next()
    draft.end(c.res.status, c.error)
  })
}

/** The user in a path that is known to be decodable. */
function userIn(c: Context<ApiEnv>, pattern: string): string {
  const place = pattern.split('/').indexOf(':username')
  return decodeURIComponent(c.env?.head?.path.split('/')[place] ?? '')
}
