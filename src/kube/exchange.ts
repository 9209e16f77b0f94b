/** One message to the API server and its answer, as undici's connection reports them. */
import type { Dispatcher } from 'undici'

/** The beginning of an answer. */
export interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** What ends an exchange. */
export interface Ends {
  /** Ends it at any stage, together with its connection. */
  readonly signal: AbortSignal
  /** Ends it only before its first bytes are sent: a request that has begun continues. */
  readonly startSignal?: AbortSignal | undefined
  /** The longest body that is collected. Default: any. */
  readonly maxBytes?: number | undefined
}

export class Exchange implements Dispatcher.DispatchHandler {
  /** Resolves when the answer begins. Rejects with the signal's reason, or with the connection's error. */
  readonly head: Promise<Head>
  /** Resolves when the answer has ended, with its body, apart from what `stream` took. Rejects as `head`. */
  readonly body: Promise<Buffer>
  readonly #ends: Ends
  readonly #head = Promise.withResolvers<Head>()
  readonly #body = Promise.withResolvers<Buffer>()
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #controller: Dispatcher.DispatchController | undefined
  #onData: ((chunk: Buffer) => void) | undefined
  readonly #abort = () => this.#fail(this.#ends.signal.reason)

  constructor(ends: Ends) {
    this.#ends = ends
    this.head = this.#head.promise
    this.body = this.#body.promise
    // A caller that waits for the head need not wait for the body.
    this.head.catch(() => {})
    this.body.catch(() => {})
    ends.signal.addEventListener('abort', this.#abort, { once: true })
    if (ends.signal.aborted) this.#abort()
  }

  /**
   * Passes the body on as it arrives, from its beginning. An error that `onData` throws ends the exchange. Resolves when
   * the answer has ended; rejects as `body`, or with that error.
   */
  async stream(onData: (chunk: Buffer) => void): Promise<void> {
    try {
      // The taker of a chunk may resume the connection within that: more is collected meanwhile.
      for (let chunk = this.#chunks.shift(); chunk; chunk = this.#chunks.shift()) onData(chunk)
    } catch (error) {
      this.#fail(error as Error)
      throw error
    }
    this.#onData = onData
    await this.body
  }

  /** Takes no more bytes from the connection until `resume`; outside of `onData` one more chunk may come. */
  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#controller?.paused) this.#controller.resume()
  }

  /** The last check before bytes are written: opening a connection may take seconds, and ownership may end meanwhile. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { signal, startSignal } = this.#ends
    this.#controller = controller
    if (signal.aborted) controller.abort(signal.reason)
    else if (startSignal?.aborted) controller.abort(startSignal.reason)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Head['headers']): void {
    // 1xx precedes the answer.
    if (status >= 200) this.#head.resolve({ status, headers })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#onData) this.#onData(chunk)
    else this.#collect(chunk)
  }

  #collect(chunk: Buffer): void {
    const { maxBytes = Number.POSITIVE_INFINITY } = this.#ends
    this.#bytes += chunk.length
    if (this.#bytes > maxBytes) this.#fail(new Error(`an answer of more than ${maxBytes} bytes`))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#release()
    const [first] = this.#chunks
    this.#body.resolve(first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks))
  }

  /** Also called for an abort, for an error of the body's reader, and for a message that could not be sent. */
  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#release()
    this.#head.reject(error)
    this.#body.reject(error)
  }

  /** A message that waits for a connection has no controller yet; `onRequestStart` stops it. */
  #fail(reason: Error): void {
    this.#head.reject(reason)
    this.#body.reject(reason)
    this.#controller?.abort(reason)
  }

  #release(): void {
    this.#ends.signal.removeEventListener('abort', this.#abort)
  }
}
