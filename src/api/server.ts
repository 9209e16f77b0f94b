/** Gives the API a port. */
import { createApi } from './app.ts'
import type { ApiParts } from './env.ts'
import { close, listen, serverFor } from './http-server.ts'

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

/** Listens on `config.api.host` and `.port`. Rejects when the port cannot be had. */
export async function startApiServer(parts: Omit<ApiParts, 'draining'>): Promise<ApiServer> {
  const draining = new AbortController()
  const app = createApi({ ...parts, draining: draining.signal })
  const server = serverFor(parts.config.api.limits, (request, env) => app.fetch(request, env))
  // Before the app's own listener, which may send the head at once.
  server.prependListener('request', (_, outgoing) => {
    if (draining.signal.aborted) outgoing.setHeader('Connection', 'close')
    // A connection that was busy when the server closed would stay open for as long as its client keeps it.
    outgoing.once('close', () => server.listening || server.closeIdleConnections())
  })
  const { host } = parts.config.api
  return {
    host,
    port: await listen(server, host, parts.config.api.port),
    endStreams: () => draining.abort(),
    close: async graceMs => {
      draining.abort()
      await close(server, graceMs, parts.clock)
    },
  }
}
