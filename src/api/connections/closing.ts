/** How a server that takes no connection any more lets go of those that it has. */
import type { Server, ServerResponse } from 'node:http'
import { Server as TcpServer } from 'node:net'

/**
 * Prepares a server to be closed. To be called before the server's listener for requests is added.
 *
 * Node counts a connection as idle as soon as `end` was called for its answer, and `server.close` destroys such a
 * connection at once. A reader that is slow then loses the bytes that wait for it: of an answer of 6 MB, 2.5 MB.
 * @returns a function that takes no connection any more, and resolves when the last connection is closed
 */
export function closeWhenIdle(server: Server): () => Promise<void> {
  const unsent = new Set<ServerResponse>()
  let closing = false
  const closeIdle = () => {
    const isSending = [...unsent].some(({ writableEnded, req }) => writableEnded && !req.socket.destroyed)
    // The end of each answer brings us here again.
    if (closing && !isSending) server.closeIdleConnections()
  }
  server.prependListener('request', (_, answer) => {
    unsent.add(answer)
    // A connection that was busy when the server closed would stay open for as long as its client keeps it.
    answer.once('close', () => {
      unsent.delete(answer)
      closeIdle()
    })
  })
  return () => {
    closing = true
    // Not the method of the HTTP server, which closes idle connections by itself.
    const closed = new Promise<void>(resolve => TcpServer.prototype.close.call(server, () => resolve()))
    closeIdle()
    return closed
  }
}
