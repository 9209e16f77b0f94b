/** Serves an app on the port of the API, until it drains. */
import { clientCertificateOf } from '../../tls/server.ts'
import type { CommonParts } from '../request/env.ts'
import { boundServer, type TlsParts } from './http-server.ts'
import type { MayUpgrade } from './upgrades.ts'

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

export interface ListenParts extends Pick<CommonParts, 'config' | 'clock'> {
  /** Default: plain HTTP. */
  readonly tls?: TlsParts | undefined
}

interface App {
  fetch(...args: Parameters<Parameters<typeof boundServer>[2]>): Response | Promise<Response>
  /** Default: none. */
  readonly mayUpgrade?: MayUpgrade
}

/**
 * Listens on `config.api.host` and `.port`. Rejects if the port is not available.
 * @param appOf makes the app; the signal is that of its drain
 */
export async function listenApi(
  { config, clock, tls }: ListenParts,
  appOf: (draining: AbortSignal) => App,
): Promise<ApiServer> {
  const draining = new AbortController()
  const app = appOf(draining.signal)
  const bound = boundServer(config.api.limits, clock, (request, env) => app.fetch(request, env), {
    tls,
    mayUpgrade: app.mayUpgrade,
  })
  const onceOnly = knowsCertificates(config)
  // Before the app's own listener, which may send the head at once.
  bound.server.prependListener('request', ({ socket }, outgoing) => {
    const isKnown = onceOnly && clientCertificateOf(socket) !== undefined
    if (draining.signal.aborted || isKnown) outgoing.setHeader('Connection', 'close')
  })
  const { host } = config.api
  return {
    host,
    port: await bound.listen(host, config.api.port),
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
function knowsCertificates({ identity: { provider, gafaelfawr } }: CommonParts['config']): boolean {
  if (provider !== 'gafaelfawr' || gafaelfawr === undefined) return false
  const { userCertificateNames, adminCertificateNames, labCertificateNames } = gafaelfawr
  return userCertificateNames.length + adminCertificateNames.length + labCertificateNames.length > 0
}
