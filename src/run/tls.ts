/** Makes the certificate of a process's API. */
import type { TlsParts } from '../api/connections/http-server.ts'
import { Certificates } from '../tls/certificates.ts'
import type { Basics } from './basics.ts'

/** @returns undefined if the API is served without TLS */
export function tlsOf({ settings, config, clock, log }: Basics): TlsParts | undefined {
  const { apiTls } = settings
  if (apiTls === undefined) return undefined
  const { requireClientCertificate = false } = config.api.tls ?? {}
  return { certificates: new Certificates({ ...apiTls, clock, log }), requireClientCertificate }
}
