/** Carries the bytes of one way as they come, at the pace of their reader, where they may pass. */
import type { Readable, Writable } from 'node:stream'

/** Lets bytes pass, or makes them wait. */
export interface Gate {
  mayPass(): boolean
  /** Resolves when it is worth to ask again. */
  look(): Promise<void>
  /** Nothing will pass any more where it is not. */
  isOpen(): boolean
}

export interface RelayParts {
  readonly from: Readable
  /** The owner that closes it stops this. */
  readonly to: Pick<Writable, 'write' | 'once' | 'destroyed' | 'writableNeedDrain'>
  readonly gate?: Gate | undefined
  /**
   * Whether nothing follows the chunk that is being read. Most bodies come as one, and then cost one write with their head.
   * Default: nobody knows.
   */
  isLast?(): boolean
  /** Called once, when all has been passed on but these bytes, which are the last ones. */
  onEnd(last?: Buffer): void
}

/** Between two looks of a gate that let nothing pass. */
const againMs = 100
const none = Buffer.alloc(0)

/** Resolves with true when the gate lets pass, and with false when it is shut for ever, or nobody waits any more. */
export async function passage(gate: Gate, isOver: () => boolean): Promise<boolean> {
  while (gate.isOpen() && !isOver()) {
    await gate.look()
    if (gate.mayPass()) return true
    await new Promise(resolve => setTimeout(resolve, againMs))
  }
  return false
}

export class Relay {
  readonly #parts: RelayParts
  /** Sees what is passed on next. Returns what is to be passed on in its place; undefined: nothing. */
  tap: ((chunk: Buffer) => Buffer | undefined) | undefined
  /** The bytes that wait for the gate. */
  #held: Buffer[] | undefined
  #waiting = Promise.resolve()
  #hasEnded = false
  #isStopped = false
  #awaitsDrain = false
  /** Whether bytes, or the end, were passed on. */
  hasPassed = false

  constructor(parts: RelayParts) {
    this.#parts = parts
  }

  /** @param first bytes that were read already. They pass as all others do. */
  start(first: Buffer = none): void {
    if (this.#isStopped) return
    const { from, to } = this.#parts
    if (first.length > 0) this.#onData(first)
    from.on('data', this.#onData)
    // It may have ended before it left HTTP.
    if (from.readableEnded) queueMicrotask(this.#onEnd)
    else from.on('end', this.#onEnd)
    if (to.writableNeedDrain) this.#awaitDrain()
    else this.#resume()
  }

  /** Passes nothing on any more, and reads nothing. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    const { from } = this.#parts
    // Nothing comes any more. Most requests end so.
    if (from.readableEnded) return
    from.off('data', this.#onData)
    from.off('end', this.#onEnd)
    from.pause()
  }

  /** Resolves when nothing waits for the gate: it was passed on, or never will be. */
  settled(): Promise<void> {
    return this.#waiting
  }

  readonly #onData = (chunk: Buffer) => {
    const { gate } = this.#parts
    if (this.#held) this.#held.push(chunk)
    else if (gate?.mayPass() ?? true) this.#pass(chunk, this.#parts.isLast?.())
    else this.#hold(gate!, chunk)
  }

  readonly #onEnd = () => {
    const { gate } = this.#parts
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (this.#held) return
    // The end may have bytes too: those of trailers.
    if (gate?.mayPass() ?? true) this.#end()
    else this.#hold(gate!)
  }

  #hold(gate: Gate, ...chunks: Buffer[]): void {
    this.#held = chunks
    this.#parts.from.pause()
    this.#waiting = this.#wait(gate)
  }

  #end(last?: Buffer): void {
    this.hasPassed = true
    this.#parts.onEnd(last)
  }

  #pass(chunk: Buffer, isLast = false): void {
    const { from, to } = this.#parts
    const passed = this.tap ? this.tap(chunk) : chunk
    if (passed === undefined || to.destroyed) return
    this.hasPassed = true
    if (isLast && !this.#hasEnded) {
      this.#hasEnded = true
      this.#end(passed)
    } else if (!to.write(passed)) {
      from.pause()
      this.#awaitDrain()
    }
  }

  async #wait(gate: Gate): Promise<void> {
    if (await passage(gate, () => this.#isStopped)) this.#release()
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const chunk of held) if (!this.#isStopped) this.#pass(chunk)
    if (this.#isStopped) return
    if (this.#hasEnded) this.#end()
    else if (this.#parts.to.writableNeedDrain) this.#awaitDrain()
    else this.#resume()
  }

  /** Most messages need none. */
  #awaitDrain(): void {
    if (this.#awaitsDrain) return
    this.#awaitsDrain = true
    this.#parts.to.once('drain', () => {
      this.#awaitsDrain = false
      this.#resume()
    })
  }

  #resume(): void {
    if (!this.#held && !this.#isStopped) this.#parts.from.resume()
  }
}
