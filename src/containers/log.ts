/** The output of a container as text, as far as it was kept: its beginning, and its end. */
import type { Clock } from '../base/clock.ts'
import type { ContainerStore, LogPiece } from '../store/dispatch/containers.ts'
import { noContainer } from './problems.ts'

/** A log that is open; it begins paused. */
export interface OpenLog {
  /** To be called once. Resolves when the log is over. */
  stream(take: (chunk: Buffer) => void): Promise<void>
  pause(): void
  resume(): void
}

/** A log that somebody may read. */
export interface ContainerLog {
  readonly uuid: string
  /** The signal ends it. */
  open(signal: AbortSignal): Promise<OpenLog>
}

export interface RecordedLogOptions {
  readonly uuid: string
  /** Whether it goes on until the container has ended. */
  readonly follow: boolean
  readonly store: Pick<ContainerStore, 'log'>
  readonly clock: Pick<Clock, 'sleep'>
  /** Calls a listener when there may be more. @returns a function that removes it */
  readonly onMore: (listener: () => void) => () => void
}

/** A ring may be lost. */
const againMs = 5_000
/** The last words where it is dropped while it is read. */
const dropped = '\n[the rest is not kept any more]\n'
/** Redis may be silent for a moment. */
const retryMs = 2_000

export class RecordedLog implements ContainerLog {
  readonly uuid: string
  readonly #options: RecordedLogOptions

  constructor(options: RecordedLogOptions) {
    this.uuid = options.uuid
    this.#options = options
  }

  async open(signal: AbortSignal): Promise<OpenLog> {
    return new Reading(this.#options, signal)
  }
}

class Reading implements OpenLog {
  readonly #options: RecordedLogOptions
  readonly #signal: AbortSignal
  /** Wakes what waits: for a reader that takes more, or for more output. */
  #wake: () => void = () => {}
  #rung = false
  #paused = true
  /** Bytes of output up to here were sent, or are missing. */
  #place = 0

  constructor(options: RecordedLogOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#wake()
  }

  async stream(take: (chunk: Buffer) => void): Promise<void> {
    const stop = () => this.#wake()
    this.#signal.addEventListener('abort', stop)
    const off = this.#options.onMore(() => {
      this.#rung = true
      this.#wake()
    })
    try {
      await this.#readAll(take)
    } finally {
      off()
      this.#signal.removeEventListener('abort', stop)
    }
  }

  async #readAll(take: (chunk: Buffer) => void): Promise<void> {
    const { store, uuid, follow } = this.#options
    let next = 0
    let begun = false
    while (!this.#signal.aborted) {
      if (this.#paused) {
        await this.#woken()
        continue
      }
      this.#rung = false
      // Only the first answer decides whether there is one: later Redis may be silent for a moment.
      const read = await store.log(uuid, next).catch(error => {
        if (!begun) throw error
        return undefined
      })
      if (!begun && read === null) throw noContainer()
      // It was dropped while it was read.
      if (read === null || (read?.dropped && read.next > this.#place)) return take(Buffer.from(dropped))
      begun = true
      for (const piece of read?.pieces ?? []) this.#pass(piece, take)
      next = read?.next ?? next
      if (read?.more) continue
      if (read && (read.ended || !follow)) return
      if (!this.#rung) await this.#woken(read ? againMs : retryMs)
    }
  }

  #pass({ at, bytes }: LogPiece, take: (chunk: Buffer) => void): void {
    // The part between the beginning and the end that are kept.
    if (at > this.#place) take(Buffer.from(`\n[${at - this.#place} bytes are missing here]\n`))
    if (bytes.length > 0) take(bytes)
    this.#place = at + bytes.length
  }

  /** @param atMostMs default: until something happens */
  async #woken(atMostMs?: number): Promise<void> {
    if (this.#signal.aborted) return
    const over = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const late = atMostMs === undefined ? [] : [this.#options.clock.sleep(atMostMs, over.signal).catch(() => {})]
    await Promise.race([promise, ...late])
    over.abort(new Error('woken'))
  }
}
