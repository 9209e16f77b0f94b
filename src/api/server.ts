/** Gives the API a port. */

import { clientCertificateOf } from '../tls/server.ts'
import { createApi } from './app.ts'
import { boundServer, type TlsParts } from './connections/http-server.ts'
import type { ApiParts } from './request/env.ts'

export interface ApiServer {
  readonly host: string
  /** The one that was given out, where 0 was asked for. */
  readonly port: number
  /** Ends all event streams cleanly, and from now on each new one at once; other requests are answered as before. */
  endStreams(): void
  /**
   * Takes no connection any more, ends the event streams, and lets requests in flight return.
   * @param graceMs after which the connections that remain are broken
   */
  close(graceMs: number): Promise<void>
}

export interface ServerParts extends Omit<ApiParts, 'draining'> {
  /** Without it the port is in the clear. */
  readonly tls?: TlsParts | undefined
}

/** Listens on `config.api.host` and `.port`. Rejects when the port cannot be had. */
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
 * Whether certificates say through which ingress a request came. A connection then has one request: nginx keeps those that
 * it has opened for all of its locations together, so the next one could come through another ingress.
 */
function knowsCertificates({ identity: { provider, gafaelfawr } }: ApiParts['config']): boolean {
  if (provider !== 'gafaelfawr' || gafaelfawr === undefined) return false
  return gafaelfawr.userCertificateNames.length + gafaelfawr.adminCertificateNames.length > 0
}
