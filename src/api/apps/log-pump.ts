/** Passes one log on to one reader: no faster than it is read, and with an end. */
import type { LogStream, PodLog } from '../../appcontrol/logs.ts'
import type { Clock } from '../../base/clock.ts'

/** A log, and whether its reader may read on. */
export interface JudgedLog extends Omit<PodLog, 'mayRead'> {
  mayRead(): Promise<boolean>
}

/** `complete`: all of it was sent; `stopped`: long enough, the replica ends, or its reader is no member any more; `cut`: too much, or nobody reads. */
export type LogEnd = 'complete' | 'stopped' | 'cut' | 'left' | 'failed'

export interface LogPumpOptions {
  readonly clock: Clock
  readonly draining: AbortSignal | undefined
  readonly maxBytes: number
  readonly maxMs: number
  /** How long a reader may leave lines unread. */
  readonly patienceMs: number
  /** Cuts the connection, so that nobody takes a part for the whole. */
  readonly sever: (() => void) | undefined
  onEnd(end: LogEnd, error?: unknown): void
}

/** How often it is asked whether the reader may read on. */
const judgedMs = 60_000

/** Bytes that wait for a reader. */
const waitingBytes = 65_536

export class LogPump {
  readonly readable: ReadableStream<Uint8Array>
  /** Resolves when the log is open. @throws {ApiError} */
  readonly opened: Promise<void>
  readonly #options: LogPumpOptions
  readonly #ending = new AbortController()
  readonly #timers: (() => void)[] = []
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #source: LogStream | undefined
  #impatient: (() => void) | undefined
  #unjudged: (() => void) | undefined
  #bytes = 0

  constructor(log: JudgedLog, options: LogPumpOptions) {
    this.#options = options
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => this.#wanted(),
        cancel: () => this.#end('left'),
      },
      { highWaterMark: waitingBytes, size: chunk => chunk?.byteLength ?? 0 },
    )
    this.#timers.push(options.clock.after(options.maxMs, () => this.#end('stopped')))
    options.draining?.addEventListener('abort', this.stop)
    this.#judge(log)
    this.opened = this.#open(log)
    this.opened.catch(error => this.#end('failed', error))
  }

  /** Fires when it is over. */
  get over(): AbortSignal {
    return this.#ending.signal
  }

  stop = (): void => this.#end('stopped')

  #judge(log: JudgedLog): void {
    const again = async () => {
      const mayRead = await log.mayRead().catch(() => false)
      if (!mayRead) this.stop()
      else if (!this.over.aborted) this.#judge(log)
    }
    this.#unjudged = this.#options.clock.after(judgedMs, () => void again())
  }

  async #open(log: JudgedLog): Promise<void> {
    const source = await log.open(this.#ending.signal)
    this.#source = source
    source
      .stream(chunk => this.#take(chunk))
      .then(
        () => this.#end('complete'),
        error => this.#end('failed', error),
      )
    if (this.#hasRoom()) source.resume()
  }

  #take(chunk: Buffer): void {
    if (this.over.aborted) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#options.maxBytes) {
      this.#end('cut')
      return
    }
    // The bytes belong to the connection, which writes others over them.
    this.#controller.enqueue(Uint8Array.from(chunk))
    if (this.#hasRoom()) return
    this.#source?.pause()
    this.#impatient ??= this.#options.clock.after(this.#options.patienceMs, () => this.#end('cut'))
  }

  #wanted(): void {
    this.#impatient?.()
    this.#impatient = undefined
    this.#source?.resume()
  }

  #hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0
  }

  #end(end: LogEnd, error?: unknown): void {
    if (this.over.aborted) return
    const { draining, sever, onEnd } = this.#options
    this.#ending.abort(new Error('the log is not needed any more'))
    for (const cancel of [...this.#timers, this.#unjudged, this.#impatient]) cancel?.()
    draining?.removeEventListener('abort', this.stop)
    if (end === 'complete' || end === 'stopped') this.#controller.close()
    else if (end !== 'left') {
      this.#controller.error(new Error('log cut'))
      if (this.#source) sever?.()
    }
    onEnd(end, error)
  }
}
