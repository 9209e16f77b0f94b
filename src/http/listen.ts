/** Begins to listen, with room for a crowd. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Connections that may wait to be accepted: as many as the kernel allows (`net.core.somaxconn`), not Node's 511. A crowd beyond
 * that is dropped by the kernel, so a balancer cannot connect, and may cut its clients without an answer.
 */
const backlog = 65_535

/**
 * Listens; 0 is any free port. Rejects when the port is not available.
 * @returns the port
 */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
}
