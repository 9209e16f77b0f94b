/**
 * The protocol between the processes of a machine and a supervisor, over the socket that is its lock: JSON lines. Anybody on the
 * machine can connect, so the first line has the key of the machine. Supervisors keep their version over an update: words stay.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { systemClock } from '../base/clock.ts'
import { asNumber, asObject, asText, parseJson } from '../base/json.ts'
import { Lines } from '../dispatch/lines.ts'
import { closed, connectTo, Lock } from './state/locks.ts'

const longestBytes = 4096

const digest = (text: string) => createHash('sha256').update(text).digest()

export interface ControlOptions {
  readonly name: string
  readonly key: string
  /** The last number of the spool. */
  readonly seq: () => number
  readonly onKill: () => void
}

/** The supervisor's side. */
export class Control {
  readonly #options: ControlOptions
  readonly #followers = new Set<Socket>()
  #lock: Lock | undefined

  constructor(options: ControlOptions) {
    this.#options = options
  }

  /** @returns false when another process holds the lock */
  async take(): Promise<boolean> {
    this.#lock = await Lock.take(this.#options.name, socket => this.#serve(socket))
    return this.#lock !== undefined
  }

  /** Tells followers that there are entries up to this number. */
  tell(seq: number): void {
    for (const socket of this.#followers) this.#tellOne(socket, seq)
  }

  free(): void {
    this.#lock?.free()
  }

  #serve(socket: Socket): void {
    const lines = new Lines(longestBytes)
    let isKnown = false
    socket.on('close', () => this.#followers.delete(socket))
    socket.on('data', chunk => {
      for (const line of lines.take(chunk)) {
        const said = asObject(typeof line === 'string' ? parseJson(line) : undefined)
        isKnown ||= timingSafeEqual(digest(asText(said.key)), digest(this.#options.key))
        if (!isKnown) return socket.destroy()
        if (said.follow === true) this.#follow(socket)
        if (said.kill === true) {
          this.#options.onKill()
          socket.write('{"killing":true}\n')
        }
      }
    })
  }

  #follow(socket: Socket): void {
    this.#followers.add(socket)
    this.#tellOne(socket, this.#options.seq())
  }

  /** One line at a time; then only the latest number follows. So short a line never causes `drain`. */
  #tellOne(socket: Socket, seq: number): void {
    if (socket.writableLength > 0) return
    socket.write(`${JSON.stringify({ seq })}\n`, error => {
      if (!error && this.#options.seq() > seq) this.#tellOne(socket, this.#options.seq())
    })
  }
}

/** A connection to a supervisor, or undefined when none holds the lock. */
async function ask(name: string, key: string, words: object): Promise<Socket | undefined> {
  const socket = await connectTo(name)
  socket?.write(`${JSON.stringify({ key, ...words })}\n`)
  return socket
}

/** @returns false when no supervisor is there; it may have ended before it read this. @throws when it does not answer in time */
export async function askToKill(name: string, key: string, limitMs: number): Promise<boolean> {
  const socket = await ask(name, key, { kill: true })
  if (!socket) return false
  const answered = new Promise<boolean>(resolve => socket.once('data', () => resolve(true)))
  const late = Promise.withResolvers<never>()
  const cancel = systemClock.after(limitMs, () => late.reject(new Error(`no answer within ${limitMs} ms`)))
  try {
    return await Promise.race([answered, closed(socket).then(() => false), late.promise])
  } finally {
    cancel()
    socket.destroy()
  }
}

/**
 * Follows a supervisor. `onSeq` is called with the last number whenever that grew.
 * @returns undefined when no supervisor is there; else a function that lets go of it
 */
export async function follow(
  name: string,
  key: string,
  { onSeq, onGone }: { readonly onSeq: (seq: number) => void; readonly onGone: () => void },
): Promise<(() => void) | undefined> {
  const socket = await ask(name, key, { follow: true })
  if (!socket) return undefined
  const lines = new Lines(longestBytes)
  socket.on('data', chunk => {
    for (const line of lines.take(chunk))
      onSeq(asNumber(asObject(typeof line === 'string' ? parseJson(line) : undefined).seq))
  })
  socket.on('close', onGone)
  return () => socket.destroy()
}
