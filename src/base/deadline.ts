import type { Clock } from './clock.ts'

/**
 * A signal that fires after a time, or with another signal. It must be released, or it stays a listener of the other.
 */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal | undefined
  readonly #clock: Clock
  readonly #ms: number
  /** Monotonic. */
  #untilMs = 0
  #cancelTimer: () => void
  readonly #follow = () => this.#controller.abort(this.#parent?.reason)

  constructor(clock: Clock, ms: number, parent?: AbortSignal) {
    this.#clock = clock
    this.#ms = ms
    this.#parent = parent
    if (parent?.aborted) this.#follow()
    else parent?.addEventListener('abort', this.#follow, { once: true })
    this.#cancelTimer = this.#startTimer()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** @throws the signal's reason; also once the time is over and no timer has fired yet, as in a process that was halted */
  check(): void {
    if (this.#clock.monotonicMs() >= this.#untilMs) this.#end()
    this.signal.throwIfAborted()
  }

  /** Its time begins anew. */
  restart(): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#startTimer()
  }

  /** Stops the time. The other signal still counts. */
  stopTimer(): void {
    this.#untilMs = Number.POSITIVE_INFINITY
    this.#cancelTimer()
  }

  /** Fires now. */
  abort(reason: Error): void {
    this.#controller.abort(reason)
  }

  release(): void {
    this.stopTimer()
    this.#parent?.removeEventListener('abort', this.#follow)
  }

  #startTimer(): () => void {
    this.#untilMs = this.#clock.monotonicMs() + this.#ms
    return this.#clock.after(this.#ms, () => this.#end())
  }

  #end(): void {
    this.abort(new Error(`no answer within ${this.#ms} ms`))
  }
}

/** The promise's outcome, or the signal's reason if it is aborted first; a later outcome is dropped. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * The outcome of work with a limit of time: its value, or the error for which there is none. Rejects only with the
 * reason of the caller's own signal.
 */
export async function outcomeWithin<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | Error> {
  const deadline = new Deadline(clock, ms, signal)
  try {
    return await work(deadline.signal)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    return error as Error
  } finally {
    deadline.release()
  }
}
