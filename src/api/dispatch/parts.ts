/** What the API of containers is made of. */

import type { Config } from '../../config/schema.ts'
import type { Management } from '../../containers/management.ts'
import type { ContainerAsker, Containers } from '../../containers/service.ts'
import type { AppApiMetrics } from '../../telemetry/app-api-metrics.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import type { Carrier } from '../../tunnel/carrier.ts'
import type { Tunnels } from '../../tunnel/tunnels.ts'
import type { CommonParts } from '../request/env.ts'

/** The callers that have paths of their own: an ingress chooses the scope by the path. */
export const audiences = ['user', 'admin'] as const satisfies ContainerAsker['audience'][]
export type DispatchAudience = (typeof audiences)[number]

/** Everything for people is below this path. */
export const dispatchRoot = '/dispatch'
export const prefixes: Readonly<Record<DispatchAudience, string>> = {
  user: `${dispatchRoot}/v1`,
  admin: `${dispatchRoot}/admin/v1`,
}

/** Arvados' paths, for operators. */
export const managementRoot = '/arvados/v1/dispatch'

export interface DispatchApiParts extends CommonParts {
  readonly config: CommonParts['config'] & Pick<Config, 'dispatch'>
  readonly containers: Containers
  readonly management: Management
  readonly tunnels: Pick<Tunnels, 'enter'>
  readonly carrier: Pick<Carrier, 'request' | 'upgrade' | 'shell'>
  /** Of operators; without one nobody may use the management API. */
  readonly managementToken: string | undefined
  readonly logMetrics: Pick<AppApiMetrics, 'logs' | 'logsOpen'>
  /** Gets the lines of the audit log; refusals may be counted instead. */
  readonly auditor: { request(event: AuditEvent): void }
}
