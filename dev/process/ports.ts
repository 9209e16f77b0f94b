import { createServer } from 'node:net'
import { type Lock, tryLock } from './lock.ts'

/** Below the kernel's ports for outgoing connections (32768) and Kubernetes' node ports (30000). */
const firstPort = 20_000
const portCount = 9_000

/** Locks held for the life of this process, so that no other run takes a port between its choice and its use. */
const reserved = new Map<number, Lock>()

function canBind(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * A TCP port of loopback that nothing listens on. No other caller of this function gets it while this process lives.
 */
export async function freePort(): Promise<number> {
  const start = Math.floor(Math.random() * portCount)
  for (let step = 0; step < portCount; step++) {
    const port = firstPort + ((start + step) % portCount)
    if (reserved.has(port)) continue
    const lock = await tryLock(`port ${port}`)
    if (!lock) continue
    if (await canBind(port)) {
      reserved.set(port, lock)
      return port
    }
    await lock.release()
  }
  throw new Error(`no free port from ${firstPort} to ${firstPort + portCount - 1}`)
}
