/** What the routes of activity are made of, and how their paths name workloads. */
import type { WorkloadKind } from '../../config/idle.ts'
import type { ActivityService } from '../../idle/rest/service.ts'
import type { Workload } from '../../idle/workloads/workload.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import type { VerifyLab } from '../bounds/admit.ts'

/** The callers that have paths of their own: an ingress chooses the scope by the path. */
export const audiences = ['user', 'admin', 'lab'] as const
export type Audience = (typeof audiences)[number]

/** Everything is below this path. */
export const activityRoot = '/activity'
export const prefixes: Readonly<Record<Audience, string>> = {
  user: `${activityRoot}/v1`,
  admin: `${activityRoot}/admin/v1`,
  lab: `${activityRoot}/lab/v1`,
}

export interface ActivityParts {
  readonly activity: ActivityService
  readonly verifyLab: VerifyLab
  /** Gets the lines of the audit log; refusals may be counted instead. */
  readonly auditor: { request(event: AuditEvent): void }
}

/** The parts of the path that name a workload of each kind. */
export const namesOf: Readonly<Record<WorkloadKind, readonly string[]>> = {
  lab: ['username'],
  app: ['id'],
  notebook: ['namespace', 'name'],
  statefulset: ['namespace', 'name'],
}

/** A workload by the parameters of its path, which are decoded and checked. No part contains a slash. */
export const workloadIn = (kind: WorkloadKind, params: Readonly<Record<string, string>>): Workload => ({
  kind,
  id: namesOf[kind].map(name => params[name]).join('/'),
})

/** The path of a workload below a prefix. */
export const pathOf = ({ kind, id }: Workload): string =>
  `/${kind}/${(kind === 'lab' || kind === 'app' ? [id] : id.split('/')).map(encodeURIComponent).join('/')}`
