/** All open WebSockets of a replica, and their end when it drains. */
import type { Clock } from '../../base/clock.ts'
import type { OpenSocket } from './socket.ts'

/** Between two lots of closes. */
const tickMs = 100
/** For a frame that is on its way. */
const frameMs = 5000

export interface SocketsOptions {
  readonly clock: Clock
  /** Called for each that is closed because this replica ends. */
  readonly onDrained?: () => void
}

export class Sockets {
  readonly #options: SocketsOptions
  readonly #open = new Set<OpenSocket>()
  /** All were closed: this replica ends. */
  #isOver = false

  constructor(options: SocketsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#open.size
  }

  /** A socket that opens after `closeOver` is closed at once. Returns a function that takes it out again. */
  add(socket: OpenSocket): () => void {
    if (this.#isOver) this.#end(socket, frameMs)
    else this.#open.add(socket)
    return () => void this.#open.delete(socket)
  }

  /**
   * Closes them evenly over this time, so that their clients do not all come to another replica at once. Those that open
   * meanwhile are closed too.
   */
  async closeOver(ms: number): Promise<void> {
    const { clock } = this.#options
    const endMs = clock.monotonicMs() + ms
    while (this.#open.size > 0) {
      const leftMs = endMs - clock.monotonicMs()
      const lots = Math.max(1, Math.floor(leftMs / tickMs))
      const lot = [...this.#open].slice(0, Math.ceil(this.#open.size / lots))
      for (const socket of lot) {
        this.#open.delete(socket)
        this.#end(socket, Math.max(tickMs, Math.min(frameMs, leftMs)))
      }
      await clock.sleep(tickMs)
    }
    this.#isOver = true
  }

  #end(socket: OpenSocket, withinMs: number): void {
    this.#options.onDrained?.()
    socket.close(1012, 'the gateway restarts', withinMs)
  }
}
