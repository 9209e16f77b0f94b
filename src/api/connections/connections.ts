/** Limits the requests that may wait on a connection. */
import type { RequestListener, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { whenAnswered } from '../../http/answered.ts'
import { clientErrorAnswer, hangUp, refuse, tooManyUnanswered } from './refusals.ts'

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

/** Whether a request of it is not answered. */
export const isOwed = (socket: Duplex): boolean => (owed.get(socket)?.size ?? 0) > 0

/** Whether an answer is being sent, into which nothing else may be written. */
function isAnswering(socket: Duplex): boolean {
  return [...(owed.get(socket) ?? [])].some(outgoing => outgoing.headersSent)
}

/** Listener for input that Node could not parse as HTTP, or did not get in time. */
export function onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) socket.destroy()
  else hangUp(socket, clientErrorAnswer(error.code))
}
