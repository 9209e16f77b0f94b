/** What every client asks of a Redis. */
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * Follows MONITOR on a connection of its own. The one of ioredis fails where the first lines come together with the answer to
 * MONITOR: it takes them for answers to other commands.
 * @param onLine gets each command as the server writes it: time, database, client and quoted words
 * @returns a function that ends it
 */
export function monitorRedis(url: string, onLine: (line: string) => void): Promise<() => void> {
  const { hostname, port } = new URL(url)
  const socket = createConnection(Number(port), hostname)
  return new Promise((resolve, reject) => {
    let follows = false
    socket.on('error', reject)
    createInterface({ input: socket }).on('line', line => {
      if (follows) return onLine(line)
      if (line !== '+OK') return reject(new Error(`MONITOR: ${line}`))
      follows = true
      resolve(() => socket.destroy())
    })
    socket.write('MONITOR\r\n')
  })
}
