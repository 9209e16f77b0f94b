/** Reports the end of an answer: sent to the last byte, or its connection closed. */
import type { ServerResponse } from 'node:http'

/** Calls once, when the answer is over; at once if it already is. */
export function whenAnswered(outgoing: ServerResponse, then: () => void): void {
  // An answer that waits for an earlier one on the same connection ends with that connection too.
  if (outgoing.closed || outgoing.req.socket.destroyed) then()
  // It comes once. `once` would cost an object, and a search for it.
  else outgoing.on('close', then)
}
