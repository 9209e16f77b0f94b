/** Joins the audit log of a replica, if it is configured. */
import { type Auditor, AuditTrail, noAudit } from '../ops/audit.ts'
import type { Basics } from './basics.ts'
import type { Store } from './store.ts'

export interface Audit {
  readonly auditor: Auditor
  readonly trail?: AuditTrail
}

export function joinAudit({ auditLog, config, clock, log }: Basics, { notes }: Store): Audit {
  if (!auditLog) return { auditor: noAudit }
  const trail = new AuditTrail({
    audit: auditLog,
    notes,
    namespacePrefix: config.lab.namespacePrefix,
    clock,
    log,
  })
  return { auditor: trail, trail }
}
