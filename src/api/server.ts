/** Serves the API on a port. */

import { clientCertificateOf } from '../tls/server.ts'
import { createApi } from './app.ts'
import { boundServer, type TlsParts } from './connections/http-server.ts'
import type { ApiParts } from './request/env.ts'

export interface ApiServer {
  readonly host: string
  /** The actual port, if 0 was requested. */
  readonly port: number
  /** Ends all event streams cleanly, and new ones at once; other requests are served as before. */
  endStreams(): void
  /**
   * Accepts no more connections, ends the event streams, and lets requests in flight finish.
   * @param graceMs time after which remaining connections are cut
   */
  close(graceMs: number): Promise<void>
}

export interface ServerParts extends Omit<ApiParts, 'draining'> {
  /** Default: plain HTTP. */
  readonly tls?: TlsParts | undefined
}

/** Listens on `config.api.host` and `.port`. Rejects if the port is not available. */
export async function startApiServer(parts: ServerParts): Promise<ApiServer> {
  const draining = new AbortController()
  const app = createApi({ ...parts, draining: draining.signal })
  const bound = boundServer(parts.config.api.limits, parts.clock, (request, env) => app.fetch(request, env), parts.tls)
  const onceOnly = knowsCertificates(parts.config)
  // Before the app's own listener, which may send the head at once.
  bound.server.prependListener('request', ({ socket }, outgoing) => {
    const isKnown = onceOnly && clientCertificateOf(socket) !== undefined
    if (draining.signal.aborted || isKnown) outgoing.setHeader('Connection', 'close')
  })
  const { host } = parts.config.api
  return {
    host,
    port: await bound.listen(host, parts.config.api.port),
    endStreams: () => draining.abort(),
    close: async graceMs => {
      draining.abort()
      await bound.close(graceMs)
    },
  }
}

/**
 * Whether certificates identify ingresses. Then a connection has one request: nginx shares its open connections among
 * all of its locations, so the next request could come through another ingress.
 */
function knowsCertificates({ identity: { provider, gafaelfawr } }: ApiParts['config']): boolean {
  if (provider !== 'gafaelfawr' || gafaelfawr === undefined) return false
  return gafaelfawr.userCertificateNames.length + gafaelfawr.adminCertificateNames.length > 0
}
