/**
 * Locks as abstract Unix sockets: the kernel frees one with the process that holds it, however that dies. Node has no flock.
 * Names belong to a network namespace, so they contain the identity of the state folder.
 */
import { once } from 'node:events'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import { failpoint } from '../../base/failpoint.ts'

const abstract = (name: string) => `\0${name}`
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

/** A lock that this process holds. */
export class Lock {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, onConnection: ((socket: Socket) => void) | undefined) {
    this.#server = server
    server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => this.#sockets.delete(socket))
      if (onConnection) onConnection(socket)
      else socket.resume()
    })
  }

  /** @returns undefined when another process holds it */
  static async take(name: string, onConnection?: (socket: Socket) => void): Promise<Lock | undefined> {
    const server = createServer()
    const lock = new Lock(server, onConnection)
    try {
      server.listen(abstract(name))
      await once(server, 'listening')
      return lock
    } catch (error) {
      if (codeOf(error) === 'EADDRINUSE') return undefined
      throw error
    }
  }

  /** Frees it at once, and closes what is connected: waiting processes see that. */
  free(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

/**
 * A connection to the process that holds a lock, or undefined when none does. It proves that the process is there, even if that
 * is stopped: the kernel accepts for it.
 */
export async function connectTo(name: string): Promise<Socket | undefined> {
  for (;;) {
    const socket = createConnection(abstract(name))
    try {
      await once(socket, 'connect')
      socket.on('error', () => socket.destroy())
      return socket
    } catch (error) {
      if (codeOf(error) === 'ECONNREFUSED') return undefined
      // Its queue of connections is full, or it was freed between.
      if (codeOf(error) !== 'EAGAIN' && codeOf(error) !== 'ECONNRESET') throw error
      await systemClock.sleep(10)
    }
  }
}

/** Resolves when a connection is closed, also by the death of a process that never accepted it. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    if (socket.destroyed) resolve()
    else socket.resume().once('close', () => resolve())
  })

export async function isHeld(name: string): Promise<boolean> {
  const socket = await connectTo(name)
  socket?.destroy()
  return socket !== undefined
}

/**
 * The gate of a machine: one piece of work at a time, over all processes. Between a check and its effect nothing of another
 * connection passes.
 */
export class Gate {
  readonly #name: string
  #last: Promise<unknown> = Promise.resolve()

  constructor(name: string) {
    this.#name = name
  }

  pass<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#enter(work))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #enter<T>(work: () => Promise<T>): Promise<T> {
    const lock = await this.#taken()
    try {
      await failpoint('runner.gate.inside')
      return await work()
    } finally {
      lock.free()
    }
  }

  async #taken(): Promise<Lock> {
    for (;;) {
      const lock = await Lock.take(this.#name)
      if (lock) return lock
      const holder = await connectTo(this.#name)
      // It closes when the holder frees the lock, or dies.
      if (holder) await closed(holder)
    }
  }
}
