/** Connections: how many there may be, and how many requests may wait on one. */
import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { whenAnswered } from '../request/answered.ts'
import { busy, clientErrorAnswer, hangUp, refuse, tooManyUnanswered } from './refusals.ts'

/**
 * Lets a server take `max` connections at once; each one more is told 503 and closed. The server's own bound would close
 * it without a word, and a balancer could not tell that from a replica that broke.
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

/** Part of the bound by which there may be more connections that are not secure yet, or are just told that they are too many. */
const unsecureShare = 1 / 16

/** The same by TLS. In the clear nothing could be told: beyond the bound and a part of it connections end without a word. */
export function boundSecureConnections(server: Server, max: number): void {
  boundConnections(server, max, 'secureConnection')
  server.maxConnections = max + Math.ceil(max * unsecureShare)
}

/** Of each connection the answers that are owed, in the order in which they will be sent. */
const owed = new WeakMap<Duplex, Set<ServerResponse>>()

/** Refuses with 429 what comes on a connection that has `max` unanswered requests: only those who never read have so many. */
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

/** Whether an answer is being sent, in the midst of which nothing else may be said. */
function isAnswering(socket: Duplex): boolean {
  return [...(owed.get(socket) ?? [])].some(outgoing => outgoing.headersSent)
}

/** Listener for what Node could not parse as HTTP, or did not get in time. */
export function onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) socket.destroy()
  else hangUp(socket, clientErrorAnswer(error.code))
}
