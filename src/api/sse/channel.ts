/** A stream of bytes that is written only when its reader asks. */

export class ByteChannel {
  /** The reader's end. */
  readonly readable: ReadableStream<Uint8Array>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #wanted = false
  #wake: (() => void) | undefined

  /** @param onGone called when the reader has disconnected */
  constructor(onGone: () => void) {
    this.readable = new ReadableStream(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => {
          this.#wanted = true
          this.#wake?.()
        },
        cancel: () => {
          this.#wanted = false
          onGone()
        },
      },
      // With a buffer of its own, the stream would ask ahead of its reader.
      { highWaterMark: 0 },
    )
  }

  /** Whether the reader has taken everything and asks for more. */
  get wanted(): boolean {
    return this.#wanted
  }

  /** Resolves when the reader asks for more, never after it has disconnected. One call at a time. */
  whenWanted(): Promise<void> {
    if (this.#wanted) return Promise.resolve()
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  /** Writes one piece, whose bytes must never change. To be called only while it is wanted. */
  write(bytes: Uint8Array): void {
    this.#wanted = false
    this.#controller.enqueue(bytes)
  }

  /** Ends the stream as complete; has no effect after the reader has disconnected. */
  close(): void {
    attempt(() => this.#controller.close())
  }

  /** Ends the stream as failed; has no effect after the reader has disconnected. */
  fail(error: Error): void {
    attempt(() => this.#controller.error(error))
  }
}

/** A controller throws if its stream is already over, which is the desired state. */
function attempt(end: () => void): void {
  try {
    end()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
}
