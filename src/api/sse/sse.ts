/** Server-sent events: their text, and the pump that sends an operation's events to one reader. */
import { notNeeded } from '../../base/clock.ts'
import type { Alarms } from './alarms.ts'
import { ByteChannel } from './channel.ts'

/** `id` is absent only where the stream was lost. */
export interface StreamEvent {
  readonly id?: string
  readonly event: string
  /** Never empty. */
  readonly data: string
}

/** A reader's place in a stream. */
export interface EventFeed {
  /** Events in order, in batches as they come; ends with the stream, and when `signal` is aborted. */
  read(signal: AbortSignal): AsyncIterable<readonly StreamEvent[]>
}

/**
 * When a client reconnects, here or to another replica, if its stream ended before the operation. Without a blank line:
 * it belongs to the first event's block, since some readers make an event of every block, even of one without data.
 */
export const preamble = 'retry: 1000\n'
/**
 * With a blank line: readers of whole blocks, such as JupyterHub's spawner, would otherwise not notice that the server
 * lives.
 */
const heartbeat = ':\n\n'

/** One event as text; data of several lines become several `data` fields, which a reader joins again. */
export function formatEvent({ id, event, data }: StreamEvent): string {
  const head = id === undefined ? '' : `id: ${id}\n`
  const lines = data.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  return `${head}event: ${event}\n${lines.join('')}\n`
}

const encoder = new TextEncoder()
const preambleBytes = encoder.encode(preamble)
const heartbeatBytes = encoder.encode(heartbeat)

/** By batch: readers at one place of a stream get the same batch, and stuck ones then hold the same bytes. */
const encoded = new WeakMap<readonly StreamEvent[], Uint8Array>()

function encode(batch: readonly StreamEvent[]): Uint8Array {
  let bytes = encoded.get(batch)
  if (!bytes) {
    bytes = encoder.encode(batch.map(formatEvent).join(''))
    encoded.set(batch, bytes)
  }
  return bytes
}

/** The end of a stream. `cut`: its reader took nothing for too long. */
export type StreamEnd = 'complete' | 'stopped' | 'cut' | 'failed'

export interface PumpOptions {
  /** Shared by all streams: a comment is sent after a silence of their length. */
  readonly silence: Alarms
  /** Shared by all streams: their length is how long a reader may leave data unread. */
  readonly patience: Alarms
  /** Cuts the connection of a reader that takes nothing; without it, the stream fails. */
  readonly sever?: (() => void) | undefined
  /** Called once, when the stream is over. */
  onEnd(end: StreamEnd, error?: unknown): void
}

/**
 * Sends a feed to one reader. It takes nothing from the feed before the reader has taken everything earlier, so a stuck
 * reader costs one batch.
 */
export class EventPump {
  readonly #feed: EventFeed
  readonly #options: PumpOptions
  readonly #stop = new AbortController()
  readonly #channel = new ByteChannel(() => this.stop())
  /** Ends the current wait. */
  #interrupt: (why: 'late' | 'stopped') => void = () => {}

  constructor(feed: EventFeed, options: PumpOptions) {
    this.#feed = feed
    this.#options = options
  }

  /** Begins. To be called once. */
  start(): ReadableStream<Uint8Array> {
    void this.#run()
    return this.#channel.readable
  }

  /** Ends the stream cleanly, at any point. */
  stop(): void {
    this.#stop.abort(notNeeded)
    this.#interrupt('stopped')
  }

  async #run(): Promise<void> {
    let end: StreamEnd = 'failed'
    let failure: unknown
    try {
      end = await this.#pump()
    } catch (error) {
      failure = error
    }
    if (end !== 'cut') this.#channel.close()
    else if (this.#options.sever) this.#options.sever()
    else this.#channel.fail(new Error('event stream cut'))
    this.#options.onEnd(end, failure)
  }

  async #pump(): Promise<StreamEnd> {
    const batches = this.#feed.read(this.#stop.signal)[Symbol.asyncIterator]()
    try {
      return await this.#bring(batches)
    } finally {
      this.#stop.abort(notNeeded)
      // A generator that is never resumed would keep its resources. If it ignores this, it is not awaited.
      batches.return?.().catch(() => {})
    }
  }

  async #bring(batches: AsyncIterator<readonly StreamEvent[]>): Promise<StreamEnd> {
    let bytes: Uint8Array = preambleBytes
    let next: Promise<IteratorResult<readonly StreamEvent[]>> | undefined
    for (;;) {
      const written = await this.#write(bytes)
      if (written !== 'done') return written
      // Taken only after the reader has all earlier ones; comments may be sent while it is awaited.
      next ??= take(batches)
      const result = await this.#within(this.#options.silence, next)
      if (result === 'stopped') return 'stopped'
      if (result === 'late') {
        bytes = heartbeatBytes
        continue
      }
      if (result.done) return this.#stop.signal.aborted ? 'stopped' : 'complete'
      bytes = encode(result.value)
      next = undefined
    }
  }

  async #write(bytes: Uint8Array): Promise<'done' | 'stopped' | 'cut'> {
    if (!this.#channel.wanted) {
      const result = await this.#within(this.#options.patience, this.#channel.whenWanted())
      if (result === 'late') return 'cut'
      if (result === 'stopped') return 'stopped'
    }
    this.#channel.write(bytes)
    return 'done'
  }

  /** Waits for a promise, up to a time-out, or until the stream is stopped. */
  async #within<T>(alarms: Alarms, promise: Promise<T>): Promise<T | 'late' | 'stopped'> {
    if (this.#stop.signal.aborted) return 'stopped'
    const { promise: interrupted, resolve } = Promise.withResolvers<'late' | 'stopped'>()
    this.#interrupt = resolve
    const ring = () => resolve('late')
    alarms.set(ring)
    try {
      return await Promise.race([promise, interrupted])
    } finally {
      alarms.clear(ring)
    }
  }
}

/** The next batch. If the stream ends meanwhile, a later failure is ignored. */
function take(batches: AsyncIterator<readonly StreamEvent[]>): Promise<IteratorResult<readonly StreamEvent[]>> {
  const next = batches.next()
  next.catch(() => {})
  return next
}
