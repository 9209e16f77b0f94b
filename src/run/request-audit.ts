/** The audit log of a process without operations: one line for each request that changes something. */
import type { AuditEvent } from '../telemetry/audit.ts'
import { RefusalFlood } from '../telemetry/audit-flood.ts'
import type { Basics } from './basics.ts'

export interface RequestAudit {
  readonly auditor: { request(event: AuditEvent): void }
  readonly flush: () => void
}

/** Refusals are counted where there are many. */
export function joinRequestAudit({ auditLog, clock }: Basics): RequestAudit {
  if (!auditLog) return { auditor: { request: () => {} }, flush: () => {} }
  const flood = new RefusalFlood({ audit: auditLog, clock })
  const isRefusal = (result: string) => result === 'refused' || result === 'failed'
  return {
    auditor: { request: event => void (isRefusal(event.result) ? flood.write(event) : auditLog.write(event)) },
    flush: () => flood.flush(),
  }
}
