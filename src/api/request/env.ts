/** Types shared by the parts of the API: data of one request, and the API's dependencies. */
import type { Socket } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Clock } from '../../base/clock.ts'
import type { Identity } from '../../base/domain.ts'
import type { ApiError } from '../../base/errors.ts'
import type { Config } from '../../config/schema.ts'
import type { IdleNotices } from '../../form/notice.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { ImageService } from '../../images/catalogue/types.ts'
import type { Auditor } from '../../ops/audit.ts'
import type { LabService } from '../../ops/labs/service.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Origin, Tracing } from '../../telemetry/tracing.ts'

/** What every API has, whatever its routes are about. */
export interface CommonParts {
  readonly config: Pick<Config, 'api' | 'identity' | 'audit'>
  readonly identity: IdentityProvider
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly clock: Clock
  readonly log: Logger
  /** Ends all event streams when aborted; later ones send pending events and end. */
  readonly draining?: AbortSignal
}

/** The API for labs. */
export interface ApiParts extends CommonParts {
  readonly config: Pick<Config, 'api' | 'lab' | 'identity' | 'images' | 'form' | 'audit'>
  readonly labs: LabService
  readonly images: ImageService
  readonly audit: Auditor
  /** Only of an installation that stops idle labs. */
  readonly notices?: IdleNotices | undefined
}

/** The head of a request as the server read it, once. */
export interface Head {
  /** The path of the request line. Routes, their parameters, the log, spans and metrics go by this value alone. */
  readonly path: string
  /** What follows the first question mark of the target, as sent. Only routes that have a query read it (`query.ts`). */
  readonly query?: string
  /** Why the request is refused. Its path is then `/`, which has no route. */
  readonly refusal?: ApiError
}

/** A request that a handler may answer by itself, on the connection. */
export interface Carried {
  /** Set by the handler: what it returns is not sent. */
  isTaken: boolean
  /** Of a request for another protocol: the connection, and what came with the head. */
  readonly upgrade?: { readonly socket: Socket; readonly head: Buffer }
}

/** The audit line that a request will write. */
export interface AuditDraft {
  /** Records the caller. @returns the origin for an operation that the request may begin */
  identified(caller: Identity): Origin
}

export interface ApiEnv {
  /** The server's own objects, absent if a test calls the app without a port; and the head. */
  Bindings: Partial<HttpBindings> & { readonly head?: Head; readonly carried?: Carried }
  Variables: {
    log: Logger
    /** The origin for operations that the request begins. */
    origin: Origin
    /** Set once the caller is known. */
    caller: Identity
    /** Set if the request is for a change. */
    audit?: AuditDraft
    /** Set if the caller's requests take turns: gives the turn to the next one, while this one waits for others. */
    endTurn?: () => void
    /** Set if a create was charged: to be called when it repeats an earlier one. */
    onRepeated?: () => void
  }
}
