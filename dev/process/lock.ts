import { createHash } from 'node:crypto'
import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * Locks between processes of one machine: each is a socket in Linux' abstract namespace, which one process at a time
 * can bind. The kernel frees it when that process ends, however it ends, so no lock outlives its holder. Waiting
 * processes are connected to it, so the holder's end is an event for them.
 */
export interface Lock {
  release(): Promise<void>
}

function addressOf(name: string): string {
  return `\0skylab-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** Takes the lock; null when it is taken. Held until released or until this process ends. */
export function tryLock(name: string): Promise<Lock | null> {
  const waiting = new Set<Socket>()
  const server = createServer(socket => {
    waiting.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => waiting.delete(socket))
    // Waiting processes must not keep the holder from exiting.
    socket.unref()
  })
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    server.listen(addressOf(name), () => {
      server.unref()
      resolve({ release: () => closeServer(server, waiting) })
    })
  })
}

function closeServer(server: Server, waiting: Set<Socket>): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    for (const socket of waiting) socket.destroy()
  })
}

/** Resolves when the lock's holder has released it; rejects with the signal's reason when that is aborted first. */
function whenReleased(name: string, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(addressOf(name))
    const abort = () => {
      socket.destroy()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
  })
}

export interface LockOptions {
  signal?: AbortSignal | undefined
  /** Called once when the lock is taken. */
  onWait?: () => void
}

/** Does the work while holding the lock, after waiting for it without limit. */
export async function withLock<T>(name: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  let lock = await tryLock(name)
  if (!lock) options.onWait?.()
  while (!lock) {
    options.signal?.throwIfAborted()
    await whenReleased(name, options.signal)
    lock = await tryLock(name)
  }
  try {
    return await work()
  } finally {
    await lock.release()
  }
}
