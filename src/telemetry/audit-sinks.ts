/** Where lines of the audit log go. A sink has written a line when it returns, or throws. */
import { type DestinationStream, pino } from 'pino'

export interface LineSink {
  /** In the words of the log. */
  readonly name: string
  /** @throws {Error} the line was not written, or not to its end */
  write(line: string): void
}

/** A file or a descriptor that is written at once: a writer waits while its reader takes nothing. */
export class StreamSink implements LineSink, DestinationStream {
  readonly name: string
  readonly #stream: DestinationStream
  #failure: Error | undefined
  #gone: Error | undefined

  /** @param dest a number is a descriptor */
  constructor(name: string, dest: string | number) {
    this.name = name
    // A file that was full goes on with what it has not taken yet, up to so much: lines are late then, or twice there.
    const stream = pino.destination({ dest, sync: true, mode: 0o600, ...(typeof dest === 'string' && { maxLength }) })
    stream.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = error
      // Nobody reads any more, and the stream takes every line from now on without writing it.
      if (error.code === 'EPIPE') this.#gone = error
    })
    stream.on('drop', () => {
      this.#failure = new Error('too much waits to be written')
    })
    this.#stream = stream
  }

  write(line: string): void {
    this.#failure = this.#gone
    if (!this.#gone) this.#stream.write(line)
    if (this.#failure) throw this.#failure
  }
}

const maxLength = 1_048_576

/**
 * Where a line belongs, then where it goes if that fails.
 * @param file path of the file of the configuration; undefined for none
 */
export function sinksOf(file: string | undefined, ...others: readonly LineSink[]): LineSink[] {
  return [...(file === undefined ? [] : [new StreamSink('audit.file', file)]), ...others]
}

/** A function as a sink, for commands and tests. */
export function sinkOf(name: string, write: (line: string) => void): LineSink {
  return { name, write }
}
