/** A stream of bytes that is written when its reader asks, and not before. */

export class ByteChannel {
  /** What the reader reads. */
  readonly readable: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #wanted = false
  #wake: (() => void) | undefined

  /** @param onGone called when the reader went away */
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
      // With any room of its own the stream would ask ahead of its reader.
      { highWaterMark: 0 },
    )
  }

  /** The reader has taken everything and asks for more. */
  get wanted(): boolean {
    return this.#wanted
  }

  /** Resolves when the reader asks for more; it never does for one that went away. One call at a time. */
  whenWanted(): Promise<void> {
    if (this.#wanted) return Promise.resolve()
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  /** Hands over one piece. To be called only while it is wanted. */
  write(text: string): void {
    this.#wanted = false
    this.#controller.enqueue(this.#encoder.encode(text))
  }

  /** Ends the stream as complete; nothing happens when the reader went away. */
  close(): void {
    attempt(() => this.#controller.close())
  }

  /** Ends the stream as broken; nothing happens when the reader went away. */
  fail(error: Error): void {
    attempt(() => this.#controller.error(error))
  }
}

/** A controller throws when its stream is over already, which is what was asked for. */
function attempt(end: () => void): void {
  try {
    end()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
}
