/** Joins REST of tenants: identity of callers, sudo with an end, routes. Loaded only if the configuration wants it. */
import { type ApiServer, listenApi } from '../../api/connections/listen.ts'
import { createTenantsApi } from '../../api/tenants/app.ts'
import type { SudoAuditor } from '../../api/tenants/audit.ts'
import { unavailable } from '../../base/errors.ts'
import { inFull } from '../../base/reasons.ts'
import type { RestConfig } from '../../config/tenants.ts'
import { TenantService } from '../../sudo/service.ts'
import { Sudo } from '../../sudo/sudo.ts'
import { RefusalFlood } from '../../telemetry/audit-flood.ts'
import { createIdentity } from '../identity.ts'
import type { Part } from '../part.ts'
import { tlsOf } from '../tls.ts'
import type { TenantReplica } from './replica.ts'

export interface Rest {
  /** Runs beside the replica, and closes before its connections do. */
  readonly part: Part
  listen(): Promise<ApiServer>
  /** Why callers cannot be identified; undefined if they can be. */
  readonly trouble: () => string | undefined
}

/** @param isSynced whether the watches show the cluster */
export function joinRest(replica: TenantReplica, rest: RestConfig, isSynced: () => boolean): Rest {
  const { basics, kube, world, poke } = replica
  const { settings, config, clock, log, metrics, tracing } = basics
  const identity = createIdentity(settings, {
    ...{ clock, log },
    onRequest: (result, seconds) => metrics.identityRequestDuration.observe({ result }, seconds),
  })
  const sudo = new Sudo({ world, kube, rest, clock, onWritten: poke })
  const openEvents = async () => {
    throw unavailable('there are no events yet')
  }
  const tenants = new TenantService({ world, rest, sudo, clock, isSynced, openEvents })
  const { auditor, flush } = joinAuditor(replica)
  const tls = tlsOf(basics)
  const parts = { config, identity, metrics, tracing, clock, log, tenants, auditor }
  return {
    part: {
      start: () => tls?.certificates.start(),
      stop: flush,
      close: () => tls?.certificates.close(),
    },
    listen: () => listenApi({ config, clock, tls }, draining => createTenantsApi({ ...parts, draining })),
    trouble: () => {
      const reason = identity.trouble?.()
      return reason && inFull(reason)
    },
  }
}

function joinAuditor({ basics: { auditLog, clock } }: TenantReplica): {
  readonly auditor: SudoAuditor
  readonly flush: () => void
} {
  if (!auditLog) return { auditor: { request: () => {} }, flush: () => {} }
  const flood = new RefusalFlood({ audit: auditLog, clock })
  const isRefusal = (result: string) => result === 'refused' || result === 'failed'
  return {
    auditor: { request: event => void (isRefusal(event.result) ? flood.write(event) : auditLog.write(event)) },
    flush: () => flood.flush(),
  }
}
