/** What the API of apps is made of. */
import type { Logs } from '../../appcontrol/logs.ts'
import type { Apps } from '../../appcontrol/service.ts'
import type { Templates } from '../../appcontrol/templates.ts'
import type { Config } from '../../config/schema.ts'
import type { ActivityService } from '../../idle/rest/service.ts'
import type { AppApiMetrics } from '../../telemetry/app-api-metrics.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import type { CommonParts } from '../request/env.ts'

/** The callers that have paths of their own: an ingress chooses the scope by the path. */
export const audiences = ['user', 'admin'] as const
export type AppAudience = (typeof audiences)[number]

/** Everything is below this path. */
export const appsRoot = '/apps'
export const prefixes: Readonly<Record<AppAudience, string>> = {
  user: `${appsRoot}/v1`,
  admin: `${appsRoot}/admin/v1`,
}

/** Whose sessions end: a user's, those of an app, or those of a user in an app. */
export interface Revocation {
  readonly user?: string | undefined
  readonly appId?: string | undefined
}

/** Where GraphQL is: PrimeHub's clients know the first. */
export const graphqlPaths: Readonly<Record<AppAudience, string>> = {
  user: '/api/graphql',
  admin: `${prefixes.admin}/graphql`,
}

/** Where the logs of pods are, by their names. */
export const logsPaths: Readonly<Record<AppAudience, string>> = {
  user: '/api/logs/pods',
  admin: `${prefixes.admin}/logs/pods`,
}

export interface AppsApiParts extends CommonParts {
  readonly config: CommonParts['config'] & Pick<Config, 'apps'>
  readonly apps: Apps
  readonly templates: Templates
  readonly logs: Logs
  /** @throws {RetryLater} when Redis does not answer */
  readonly revoke: (revocation: Revocation) => Promise<void>
  readonly appMetrics: AppApiMetrics
  /** Only where idle apps are looked at. */
  readonly activity?: Pick<ActivityService, 'find'> | undefined
  /** Gets the lines of the audit log; refusals may be counted instead. */
  readonly auditor: { request(event: AuditEvent): void }
}
