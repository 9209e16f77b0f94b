/** One answer, as undici's connection reports it: undici's request function adds a stream and two listeners to each. */
import type { Dispatcher } from 'undici'
import { type Answer, AnswerError } from './answer.ts'

export interface ReceptionOptions {
  readonly url: URL
  /** Of the body. */
  readonly maxBytes: number
  /** Ends it at any stage, together with its connection. */
  readonly signal?: AbortSignal | undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

export class Reception implements Dispatcher.DispatchHandler {
  /** Rejects with the signal's reason, with the connection's error, or for an answer that is too large. */
  readonly answer: Promise<Answer>
  readonly #options: ReceptionOptions
  readonly #answer = Promise.withResolvers<Answer>()
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #headers: Headers = {}
  #controller: Dispatcher.DispatchController | undefined
  readonly #abort = () => this.#fail(this.#options.signal!.reason)

  constructor(options: ReceptionOptions) {
    const { signal } = options
    this.#options = options
    this.answer = this.#answer.promise
    signal?.addEventListener('abort', this.#abort, { once: true })
    if (signal?.aborted) this.#abort()
  }

  /** Nothing is sent for a signal that was aborted while the connection was being opened. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { signal } = this.#options
    this.#controller = controller
    if (signal?.aborted) controller.abort(signal.reason)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // An interim answer (1xx) precedes the one that counts.
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes } = this.#options
    this.#size += chunk.length
    if (this.#size > maxBytes) this.#fail(new AnswerError(`the answer is larger than ${maxBytes} bytes`))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#release()
    const headers = this.#headers
    const header = (name: string) => [headers[name] ?? ''].flat().join(', ')
    const body = Buffer.concat(this.#chunks)
    this.#answer.resolve({ url: this.#options.url, status: this.#status, header, body })
  }

  /** Also called for an abort, and for a request that could not be sent. */
  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#release()
    this.#answer.reject(error)
  }

  /** A request that waits for a connection has no controller yet; `onRequestStart` stops it. */
  #fail(reason: Error): void {
    this.#answer.reject(reason)
    this.#controller?.abort(reason)
  }

  #release(): void {
    this.#options.signal?.removeEventListener('abort', this.#abort)
  }
}
