/** Limits the connections of a server. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Lets a server have `max` connections; further ones are refused. The server's own limit would close them without an answer,
 * which a balancer cannot distinguish from a broken replica.
 * @param refuse answers on the bare connection, and closes it
 */
export function boundConnections(
  server: Server,
  max: number,
  refuse: (socket: Socket) => void,
  event = 'connection',
): void {
  const listeners = server.listeners(event) as ((this: Server, socket: Socket) => void)[]
  let open = 0
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => {
    if (open >= max) return refuse(socket)
    open += 1
    socket.once('close', () => {
      open -= 1
    })
    for (const serve of listeners) serve.call(server, socket)
  })
}

/** Additional connections, as a share of the limit, that may be in their handshake, or are getting a refusal. */
const unsecureShare = 1 / 16

/**
 * The same with TLS. Beyond the limit and the share, connections are closed without an answer, which would need a
 * handshake.
 */
export function boundSecureConnections(server: Server, max: number, refuse: (socket: Socket) => void): void {
  boundConnections(server, max, refuse, 'secureConnection')
  server.maxConnections = max + Math.ceil(max * unsecureShare)
}
