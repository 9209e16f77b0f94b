/**
 * Lines of the audit log: who reached into which container, and when that ended. Requests of one person to one port of one
 * container are one visit, which ends when none has come for a while. Each shell is one of its own.
 */
import type { Clock } from '../base/clock.ts'
import type { Identity } from '../base/domain.ts'
import type { ApiError } from '../base/errors.ts'
import type { Source } from '../base/source.ts'
import type { TunnelTarget } from '../dispatch/tunnel.ts'
import type { Actor, AuditEvent } from '../telemetry/audit.ts'

/** Who asks, and by which scope. */
export interface Asker {
  readonly caller: Pick<Identity, 'username' | 'groups' | 'scopes'>
  readonly audience: 'user' | 'admin'
  readonly from: Source
  readonly requestId: string
}

/** `left`: by either side; `revoked`: the asker may stay no more; `ended`: the container; `drained`: the replica. */
export type EndReason = 'left' | 'revoked' | 'ended' | 'drained' | 'refused'

/** Whose visit it is, and of what. */
export interface Visited {
  readonly uuid: string
  readonly target: TunnelTarget
  readonly asker: Asker
}

export interface VisitsParts {
  readonly clock: Pick<Clock, 'after'>
  readonly auditor: { request(event: AuditEvent): void }
  readonly provider: string
}

const quietMs = 60_000
const scopes = { user: 'exec:notebook', admin: 'admin:jupyterlab' } as const

class Visit {
  open = 0
  cancel: (() => void) | undefined
  reason: EndReason = 'left'
  readonly of: Visited

  constructor(of: Visited) {
    this.of = of
  }
}

export class Visits {
  readonly #parts: VisitsParts
  readonly #visits = new Map<string, Visit>()
  #shells = 0

  constructor(parts: VisitsParts) {
    this.#parts = parts
  }

  /** @returns what ends it */
  enter(visited: Visited): (reason: EndReason) => void {
    const key = this.#keyOf(visited)
    let visit = this.#visits.get(key)
    if (!visit) {
      visit = new Visit(visited)
      this.#visits.set(key, visit)
      this.#write(visited, 'accepted', undefined)
    }
    visit.cancel?.()
    visit.cancel = undefined
    visit.open += 1
    return reason => this.#leave(key, visit, reason)
  }

  refused(visited: Visited, error: ApiError): void {
    this.#write(visited, 'refused', error.detail[0]?.type)
  }

  /** Writes the ends of all. */
  close(): void {
    for (const [key, visit] of [...this.#visits]) this.#end(key, visit)
  }

  #leave(key: string, visit: Visit, reason: EndReason): void {
    visit.open -= 1
    visit.reason = reason
    if (visit.open > 0) return
    const isOver = visit.of.target === 'ssh' || reason !== 'left'
    if (isOver) this.#end(key, visit)
    else visit.cancel = this.#parts.clock.after(quietMs, () => this.#end(key, visit))
  }

  #end(key: string, visit: Visit): void {
    visit.cancel?.()
    if (this.#visits.get(key) !== visit) return
    this.#visits.delete(key)
    this.#write(visit.of, 'succeeded', visit.reason)
  }

  #keyOf({ uuid, target, asker: { caller, audience } }: Visited): string {
    if (target !== 'ssh') return JSON.stringify([caller.username, audience, uuid, target.port])
    this.#shells += 1
    return String(this.#shells)
  }

  #write({ uuid, target, asker }: Visited, result: AuditEvent['result'], reason: string | undefined): void {
    const { audience, caller, from, requestId } = asker
    const kind: Actor['kind'] = audience === 'admin' ? 'administrator' : 'user'
    this.#parts.auditor.request({
      action: target === 'ssh' ? 'container.shell' : 'container.port',
      ...{ result, reason, from },
      actor: { kind, name: caller.username, scope: scopes[audience], provider: this.#parts.provider },
      object: { kind: 'container', name: uuid },
      ...(target !== 'ssh' && { stated: `port ${target.port}` }),
      request: { id: requestId },
    })
  }
}
