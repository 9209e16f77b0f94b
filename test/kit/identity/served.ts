/** What servers of identities in tests have in common: an address on loopback that they can leave and take again. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** @param port default: a free one */
export async function listenOn(server: Server, port = 0): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}

/** Closes it, with all its connections. */
export async function stopServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

/** Runs something while nothing listens at its address. */
export async function whileAway<T>(server: Server, action: () => Promise<T>): Promise<T> {
  const { port } = server.address() as AddressInfo
  await stopServer(server)
  try {
    return await action()
  } finally {
    await listenOn(server, port)
  }
}
