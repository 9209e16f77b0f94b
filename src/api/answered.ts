/** When an answer is over: sent to the last byte, or its connection gone. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Of each connection, what waits for its end. */
const waiting = new WeakMap<Socket, Set<() => void>>()

/** Calls once, when the answer is over; at once where it is already. */
export function whenAnswered(outgoing: ServerResponse, then: () => void): void {
  const { socket } = outgoing.req
  if (outgoing.closed || socket.destroyed) {
    then()
    return
  }
  const over = () => {
    outgoing.off('close', over)
    waiting.get(socket)?.delete(over)
    then()
  }
  outgoing.on('close', over)
  // An answer that waits for one before it on the same connection does not hear of the connection's end.
  waitersOf(socket).add(over)
}

function waitersOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket)
  if (known) return known
  const waiters = new Set<() => void>()
  waiting.set(socket, waiters)
  socket.once('close', () => {
    for (const over of waiters) over()
  })
  return waiters
}
