/** Joins the API of a replica: identity of callers, certificate, and routes. */
import type { TlsParts } from '../api/connections/http-server.ts'
import { type ApiServer, type ServerParts, startApiServer } from '../api/server.ts'
import { Certificates } from '../tls/certificates.ts'
import type { Basics } from './basics.ts'
import { createIdentity } from './identity.ts'

export type ApiShared = Pick<ServerParts, 'labs' | 'images' | 'audit'>

export type Api = ReturnType<typeof joinApi>

export function joinApi(basics: Basics, { labs, images, audit }: ApiShared) {
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
      startApiServer({ config, labs, images, identity, audit, metrics, tracing, clock, log, tls }),
  }
}

function tlsOf({ settings, config, clock, log }: Basics): TlsParts | undefined {
  const { apiTls } = settings
  if (apiTls === undefined) return undefined
  const { requireClientCertificate = false } = config.api.tls ?? {}
  return { certificates: new Certificates({ ...apiTls, clock, log }), requireClientCertificate }
}
