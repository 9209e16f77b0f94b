/** Limits connections, and the requests that may wait on one. */
import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { whenAnswered } from '../request/answered.ts'
import { busy, clientErrorAnswer, hangUp, refuse, tooManyUnanswered } from './refusals.ts'

/**
 * Lets a server have `max` connections; further ones get 503 and are closed. The server's own limit would close them
 * without an answer, which a balancer cannot distinguish from a broken replica.
 */
export function boundConnections(server: Server, max: number, event = 'connection'): void {
  const listeners = server.listeners(event) as ((this: Server, socket: Socket) => void)[]
  let open = 0
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => {
    if (open >= max) return hangUp(socket, busy)
    open += 1
    socket.once('close', () => {
      open -= 1
    })
    for (const serve of listeners) serve.call(server, socket)
  })
}

/** Additional connections, as a share of the limit, that may be in their handshake, or are getting a 503. */
const unsecureShare = 1 / 16

/**
 * The same with TLS. Beyond the limit and the share, connections are closed without an answer, which would need a
 * handshake.
 */
export function boundSecureConnections(server: Server, max: number): void {
  boundConnections(server, max, 'secureConnection')
  server.maxConnections = max + Math.ceil(max * unsecureShare)
}

/** The unfinished answers of each connection, in their order. */
const owed = new WeakMap<Duplex, Set<ServerResponse>>()

/** Refuses with 429 beyond `max` unanswered requests on a connection: only clients that never read have so many. */
export function boundPipeline(listener: RequestListener, max: number): RequestListener {
  return (incoming, outgoing) => {
    const { socket } = incoming
    const answers = owed.get(socket) ?? new Set()
    owed.set(socket, answers)
    if (answers.size >= max) return refuse(outgoing, tooManyUnanswered)
    answers.add(outgoing)
    whenAnswered(outgoing, () => answers.delete(outgoing))
    return listener(incoming, outgoing)
  }
}

/** Whether an answer is being sent, into which nothing else may be written. */
function isAnswering(socket: Duplex): boolean {
  return [...(owed.get(socket) ?? [])].some(outgoing => outgoing.headersSent)
}

/** Listener for input that Node could not parse as HTTP, or did not get in time. */
export function onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) socket.destroy()
  else hangUp(socket, clientErrorAnswer(error.code))
}
