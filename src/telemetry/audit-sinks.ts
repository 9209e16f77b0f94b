/** Destinations of audit lines. A sink has written the line when it returns, or it throws. */
import { type DestinationStream, pino } from 'pino'

export interface LineSink {
  /** Name of the sink in the log. */
  readonly name: string
  /** @throws {Error} when the line was not written completely */
  write(line: string): void
}

/** A file or descriptor, written synchronously: the writer blocks while the reader takes nothing. */
export class StreamSink implements LineSink, DestinationStream {
  readonly name: string
  readonly #stream: DestinationStream
  #failure: Error | undefined
  #gone: Error | undefined

  /** @param dest a path, or a number for a descriptor */
  constructor(name: string, dest: string | number) {
    this.name = name
    // After a full device, pino first writes what is left of earlier lines, up to a limit. Lines may be late or
    // repeated.
    const stream = pino.destination({ dest, sync: true, mode: 0o600, ...(typeof dest === 'string' && { maxLength }) })
    stream.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = error
      // There is no reader any more, and the stream drops every line from now on without an error.
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
 * The configured file, if any, and the sinks to use when it fails.
 * @param file path of the file of the configuration; undefined for none
 */
export function sinksOf(file: string | undefined, ...others: readonly LineSink[]): LineSink[] {
  return [...(file === undefined ? [] : [new StreamSink('audit.file', file)]), ...others]
}

/** A function as a sink, for commands and tests. */
export function sinkOf(name: string, write: (line: string) => void): LineSink {
  return { name, write }
}
