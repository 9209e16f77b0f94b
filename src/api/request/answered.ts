/** When an answer is over: sent to the last byte, or its connection gone. */
import type { ServerResponse } from 'node:http'

/** Calls once, when the answer is over; at once where it is already. */
export function whenAnswered(outgoing: ServerResponse, then: () => void): void {
  // One that waits for the answer before it on the same connection closes with that connection, too.
  if (outgoing.closed || outgoing.req.socket.destroyed) then()
  else outgoing.once('close', then)
}
