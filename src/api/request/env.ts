/** What the rooms of the API hand on to each other for one request, and what all of them are given. */
import type { HttpBindings } from '@hono/node-server'
import type { Clock } from '../../base/clock.ts'
import type { Identity } from '../../base/domain.ts'
import type { ApiError } from '../../base/errors.ts'
import type { Config } from '../../config/schema.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { ImageService } from '../../images/catalogue/types.ts'
import type { Auditor } from '../../ops/audit.ts'
import type { LabService } from '../../ops/labs/service.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Origin, Tracing } from '../../telemetry/tracing.ts'

export interface ApiParts {
  readonly config: Pick<Config, 'api' | 'lab' | 'identity' | 'images' | 'form' | 'audit'>
  readonly labs: LabService
  readonly images: ImageService
  readonly identity: IdentityProvider
  readonly audit: Auditor
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly clock: Clock
  readonly log: Logger
  /** Ends all event streams when aborted; those that begin after it send what is there and end. */
  readonly draining?: AbortSignal
}

/** What the server read of a head, once. */
export interface Head {
  /** The path of the request line. Routes, their parameters, the log, spans and metrics go by this value alone. */
  readonly path: string
  /** Why the request is not served. Its path is then `/`, which no route has. */
  readonly refusal?: ApiError
}

/** The line of the audit log that a request is to leave. */
export interface AuditDraft {
  /** Takes note of the caller. @returns what the request hands on to the operation that it may begin */
  identified(caller: Identity): Origin
}

export interface ApiEnv {
  /** The server's own objects, absent where a test calls the app without a port; and what it read of the head. */
  Bindings: Partial<HttpBindings> & { readonly head?: Head }
  Variables: {
    log: Logger
    /** The request, for whatever it begins. */
    origin: Origin
    /** Set once the caller is known. */
    caller: Identity
    /** Set where the request is to change something. */
    audit?: AuditDraft
    /** Set where a create was counted: to be called when it repeats an earlier one. */
    onRepeated?: () => void
  }
}
