/** Connections: how many there may be, and how many requests may wait on one. */
import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { whenAnswered } from './answered.ts'
import { busy, hangUp, refuse, tooManyUnanswered } from './refusals.ts'

/**
 * Lets a server take `max` connections at once; each one more is told 503 and closed. The server's own bound would close
 * it without a word, and a balancer could not tell that from a replica that broke.
 */
export function boundConnections(server: Server, max: number): void {
  const [serve] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  let open = 0
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (open >= max) return hangUp(socket, busy)
    open += 1
    socket.once('close', () => {
      open -= 1
    })
    serve!.call(server, socket)
  })
}

/** Refuses with 429 what comes on a connection that has `max` unanswered requests: only those who never read have so many. */
export function boundPipeline(listener: RequestListener, max: number): RequestListener {
  const unanswered = new WeakMap<Socket, number>()
  return (incoming, outgoing) => {
    const { socket } = incoming
    const before = unanswered.get(socket) ?? 0
    if (before >= max) return refuse(outgoing, tooManyUnanswered)
    unanswered.set(socket, before + 1)
    whenAnswered(outgoing, () => unanswered.set(socket, unanswered.get(socket)! - 1))
    return listener(incoming, outgoing)
  }
}
