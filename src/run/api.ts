/** Joins the API of a replica: identity of callers, certificate, and routes. */
import { type ApiServer, type ServerParts, startApiServer } from '../api/server.ts'
import type { Basics } from './basics.ts'
import { createIdentity } from './identity.ts'
import { tlsOf } from './tls.ts'

export type ApiShared = Pick<ServerParts, 'labs' | 'images' | 'audit' | 'notices' | 'more'>

export type Api = ReturnType<typeof joinApi>

export function joinApi(basics: Basics, { labs, images, audit, notices, more = [] }: ApiShared) {
  const { settings, config, clock, log, metrics, tracing } = basics
  const tls = tlsOf(basics)
  const identity = createIdentity(settings, {
    clock,
    log,
    onRequest: (result, seconds) => metrics.identityRequestDuration.observe({ result }, seconds),
  })
  return {
    identity,
    /** Undefined if the API is served without TLS. */
    tls,
    listen: (): Promise<ApiServer> =>
      startApiServer({ config, labs, images, identity, audit, notices, more, metrics, tracing, clock, log, tls }),
  }
}
