/** Joins REST of a process for notebooks. Loaded only where it can know who asks. */
import { createActivityApi } from '../../api/activity/standalone.ts'
import { type ApiServer, listenApi } from '../../api/connections/listen.ts'
import { inFull } from '../../base/reasons.ts'
import { createIdentity } from '../identity.ts'
import { joinRequestAudit } from '../request-audit.ts'
import { tlsOf } from '../tls.ts'
import type { NotebookReplica } from './replica.ts'

export interface Rest {
  listen(): Promise<ApiServer>
  /** Writes what the audit log has not written yet. */
  stop(): void
  close(): void
  /** Why callers cannot be identified; undefined if they can be. */
  readonly trouble: () => string | undefined
}

export function joinRest({ basics, service }: NotebookReplica): Rest {
  const { settings, config, clock, log, metrics, tracing } = basics
  const identity = createIdentity(settings, {
    ...{ clock, log },
    onRequest: (result, seconds) => metrics.identityRequestDuration.observe({ result }, seconds),
  })
  const { auditor, flush } = joinRequestAudit(basics)
  const tls = tlsOf(basics)
  const parts = { config, identity, metrics, tracing, clock, log, activity: service, auditor }
  return {
    listen: () => {
      tls?.certificates.start()
      return listenApi({ config, clock, tls }, draining => createActivityApi({ ...parts, draining }))
    },
    stop: flush,
    close: () => tls?.certificates.close(),
    trouble: () => {
      const reason = identity.trouble?.()
      return reason && inFull(reason)
    },
  }
}
