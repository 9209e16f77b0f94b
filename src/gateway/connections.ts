/**
 * Connections to apps: the agent that `node:http` asks for one. Node's own copies the options of each request twice, finds its
 * connections by names that it makes anew, and sets two times of a connection at each request. That cost a tenth of a request.
 */
import type { Agent, ClientRequest } from 'node:http'
import { createConnection, type Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { Line, type LineKeeper, type LinesOptions } from './line.ts'
import type { Destination } from './terms.ts'

export interface ConnectionsOptions extends LinesOptions {
  /** To one app at once; further requests wait in turn. */
  readonly most: number
  /** Whether one way may end before the other. Default false. */
  readonly allowHalfOpen?: boolean
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>
}

/** Makes the connection in place of one to the address. */
type Connect = NonNullable<Destination['connect']>

interface Address {
  readonly host: string
  readonly port: number
}

/** A request that has no connection yet. */
interface Waiting {
  readonly request: ClientRequest
  readonly connect: Connect | undefined
}

/** So many given-up requests may stay in the queue, also where fewer wait. */
const mostGivenUp = 64
/** Between two looks for those that were free for too long; each request looks too. */
const sweepMs = 500
/** The kernel then begins to look whether the other side of a connection is there still. */
const probeAfterMs = 1000

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #byApp = new Map<string, AppConnections>()
  #isSwept = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /** For one request at once: an app without a connection is forgotten. */
  to(host: string, port: number): Agent {
    const name = `${host}:${port}`
    const known = this.#byApp.get(name)
    const app = known ?? new AppConnections({ host, port }, this.#options, () => this.#sweepSoon())
    if (!known) this.#byApp.set(name, app)
    // Node asks for something like its agent.
    return app as unknown as Agent
  }

  /** Ends all of them, also those that have a request. */
  close(): void {
    for (const app of this.#byApp.values()) app.close()
  }

  #sweepSoon(): void {
    if (this.#isSwept) return
    this.#isSwept = true
    this.#options.clock.after(sweepMs, () => this.#sweep())
  }

  #sweep(): void {
    this.#isSwept = false
    for (const [name, app] of this.#byApp) {
      app.sweep()
      if (app.isEmpty) this.#byApp.delete(name)
    }
    if (this.#byApp.size > 0) this.#sweepSoon()
  }
}

/** Those to one app. */
class AppConnections implements LineKeeper {
  /** These four are read by Node: whether it asks the app to keep the connection. */
  readonly protocol = 'http:'
  readonly defaultPort = 80
  readonly keepAlive: boolean
  readonly maxSockets = Number.POSITIVE_INFINITY
  readonly options: ConnectionsOptions
  readonly #address: Address
  readonly #onUse: () => void
  readonly #open = new Set<Line>()
  /** The last one was used last. */
  readonly #free: Line[] = []
  readonly #waiting: Waiting[] = []
  /** On their way to the app by `connect`. */
  #dialing = 0
  #mostWaiting = mostGivenUp

  constructor(address: Address, options: ConnectionsOptions, onUse: () => void) {
    this.#address = address
    this.options = options
    this.keepAlive = options.freeMs !== undefined
    this.#onUse = onUse
  }

  get isEmpty(): boolean {
    return this.#open.size + this.#dialing + this.#waiting.length === 0
  }

  /** Node calls it once for each request. */
  addRequest(request: ClientRequest, { connect }: { connect?: Connect }): void {
    const line = this.#takeFree()
    if (line) {
      request.reusedSocket = true
      line.carry(request)
    } else if (this.#open.size + this.#dialing < this.options.most) this.#connect({ request, connect })
    else this.#wait({ request, connect })
  }

  /** Requests that wait, and some that were given up meanwhile. */
  get waiting(): number {
    return this.#waiting.length
  }

  #wait(waiting: Waiting): void {
    // Nobody tells of one that was given up.
    if (this.#waiting.length >= this.#mostWaiting) {
      const left = this.#waiting.filter(({ request }) => !request.destroyed)
      this.#waiting.splice(0, this.#waiting.length, ...left)
      this.#mostWaiting = Math.max(mostGivenUp, 2 * left.length)
    }
    this.#waiting.push(waiting)
  }

  close(): void {
    for (const { request } of this.#waiting.splice(0)) fail(request, new Error('connections to apps are closed'))
    for (const { socket } of this.#open) socket.destroy()
  }

  /** Closes those that were free for too long. */
  sweep(): void {
    const nowMs = this.options.clock.monotonicMs()
    for (const { socket, freeUntilMs } of this.#free) if (freeUntilMs <= nowMs) socket.destroy()
  }

  freed(line: Line, lifeMs: number): void {
    const next = this.#nextWaiting()
    if (next) {
      next.request.reusedSocket = true
      line.carry(next.request)
      return
    }
    line.freeUntilMs = this.options.clock.monotonicMs() + lifeMs
    this.#free.push(line)
  }

  left(line: Line): void {
    if (!this.#open.delete(line)) return
    const at = this.#free.indexOf(line)
    if (at >= 0) this.#free.splice(at, 1)
    this.#connectNext()
  }

  #takeFree(): Line | undefined {
    const nowMs = this.#free.length > 0 ? this.options.clock.monotonicMs() : 0
    for (let line = this.#free.pop(); line; line = this.#free.pop()) {
      if (line.freeUntilMs > nowMs && line.socket.writable) return line
      line.socket.destroy()
    }
    return undefined
  }

  #nextWaiting(): Waiting | undefined {
    let next = this.#waiting.shift()
    // Nobody waits for it any more.
    while (next?.request.destroyed) next = this.#waiting.shift()
    return next
  }

  #connectNext(): void {
    const next = this.#nextWaiting()
    if (next) this.#connect(next)
  }

  #connect({ request, connect }: Waiting): void {
    this.#onUse()
    const { allowHalfOpen = false } = this.options
    if (!connect) this.#add(createConnection({ ...this.#address, allowHalfOpen, noDelay: true }), request)
    else {
      this.#dialing += 1
      connect().then(
        socket => {
          this.#dialing -= 1
          this.#add(socket, request)
        },
        error => {
          this.#dialing -= 1
          fail(request, error)
          this.#connectNext()
        },
      )
    }
  }

  #add(socket: Socket, request: ClientRequest): void {
    if (this.keepAlive) socket.setKeepAlive(true, probeAfterMs)
    const line = new Line(socket, this)
    this.#open.add(line)
    line.carry(request)
  }
}

/** Node's types hide the error. */
type OnSocket = { onSocket(socket: undefined, error: Error): void }

const fail = (request: ClientRequest, error: Error) => (request as unknown as OnSocket).onSocket(undefined, error)
