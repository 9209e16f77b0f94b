/** REST of a process without labs: identity of callers, certificate, audit log, and the port. */
import { type ApiServer, listenApi } from '../api/connections/listen.ts'
import type { CommonParts } from '../api/request/env.ts'
import { inFull } from '../base/reasons.ts'
import type { Basics } from './basics.ts'
import { createIdentity } from './identity.ts'
import { joinRequestAudit, type RequestAudit } from './request-audit.ts'
import { tlsOf } from './tls.ts'

export interface OwnRest extends Pick<RequestAudit, 'auditor'> {
  listen(): Promise<ApiServer>
  /** Writes what the audit log has not written yet. */
  stop(): void
  close(): void
  /** Why callers cannot be identified; undefined if they can be. */
  readonly trouble: () => string | undefined
}

export type OwnRestParts = CommonParts & Pick<RequestAudit, 'auditor'>

/** @param createApi makes the routes, when the port is opened */
export function joinOwnRest(
  basics: Basics,
  createApi: (parts: OwnRestParts) => ReturnType<Parameters<typeof listenApi>[1]>,
): OwnRest {
  const { settings, config, clock, log, metrics, tracing } = basics
  const identity = createIdentity(settings, {
    ...{ clock, log },
    onRequest: (result, seconds) => metrics.identityRequestDuration.observe({ result }, seconds),
  })
  const { auditor, flush } = joinRequestAudit(basics)
  const tls = tlsOf(basics)
  const parts = { config, identity, metrics, tracing, clock, log, auditor }
  return {
    auditor,
    listen: () => {
      tls?.certificates.start()
      return listenApi({ config, clock, tls }, draining => createApi({ ...parts, draining }))
    },
    stop: flush,
    close: () => tls?.certificates.close(),
    trouble: () => {
      const reason = identity.trouble?.()
      return reason && inFull(reason)
    },
  }
}
