/** Gives the API a port. */
import { createApi } from './app.ts'
import type { ApiParts } from './env.ts'
import { boundServer } from './http-server.ts'

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
  const bound = boundServer(parts.config.api.limits, parts.clock, (request, env) => app.fetch(request, env))
  // Before the app's own listener, which may send the head at once.
  bound.server.prependListener('request', (_, outgoing) => {
    if (draining.signal.aborted) outgoing.setHeader('Connection', 'close')
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
