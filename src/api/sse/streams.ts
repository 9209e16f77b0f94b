/** Answers with streams of events: how many there are, how they end, and what becomes of a reader that takes nothing. */
import type { Context } from 'hono'
import type { ApiError } from '../../base/errors.ts'
import { enterBoth, PerUserLimit, TotalLimit } from '../bounds/held.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { Alarms } from './alarms.ts'
import { type EventFeed, EventPump, preamble, type StreamEnd } from './sse.ts'

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // Asks balancers not to buffer events.
  'X-Accel-Buffering': 'no',
}

/** The stream that a request asks for. */
export interface Wanted {
  /** By whom streams are counted. */
  readonly username: string
  /** `ended`: the client has all events; null: there is no such stream. */
  open(signal: AbortSignal): Promise<EventFeed | 'ended' | null>
  missing(): ApiError
}

export class EventStreams {
  readonly #parts: Pick<CommonParts, 'metrics' | 'draining'>
  readonly #perUser: PerUserLimit
  readonly #total: TotalLimit
  readonly #open = new Set<EventPump>()
  readonly #silence: Alarms
  readonly #patience: Alarms

  constructor(parts: Pick<CommonParts, 'config' | 'clock' | 'metrics' | 'draining'>) {
    this.#parts = parts
    const { heartbeatSeconds, limits } = parts.config.api
    const { maxStreams, maxStreamsPerUser, writeTimeoutSeconds } = limits
    this.#silence = new Alarms(parts.clock, heartbeatSeconds * 1000)
    this.#patience = new Alarms(parts.clock, writeTimeoutSeconds * 1000)
    this.#perUser = new PerUserLimit(maxStreamsPerUser, 'event streams')
    this.#total = new TotalLimit(maxStreams, 'event streams')
    parts.draining?.addEventListener('abort', () => {
      for (const pump of this.#open) pump.stop()
    })
  }

  async answer(c: Context<ApiEnv>, wanted: Wanted): Promise<Response> {
    const feed = await this.#feed(c, wanted)
    if (feed === null) throw wanted.missing()
    if (feed === 'ended') return c.body(null, 204)
    if (c.req.method === 'HEAD') return c.body(null, 200, streamHeaders)
    // After an empty stream the client reconnects in a second, and the balancer chooses another replica.
    if (this.#parts.draining?.aborted) return c.body(preamble, 200, streamHeaders)
    return c.body(this.#stream(c, wanted.username, feed), 200, streamHeaders)
  }

  /** A client that has left gets an answer too, which nobody reads: its request is no failure. */
  async #feed(c: Context<ApiEnv>, wanted: Wanted) {
    const { signal } = c.req.raw
    try {
      return await wanted.open(signal)
    } catch (error) {
      if (signal.aborted) return 'ended'
      throw error
    }
  }

  #stream(c: Context<ApiEnv>, username: string, feed: EventFeed): ReadableStream<Uint8Array> {
    const { metrics } = this.#parts
    const leave = enterBoth(this.#perUser, this.#total, username)
    const log = c.get('log')
    const outgoing = c.env?.outgoing
    const pump = new EventPump(feed, {
      silence: this.#silence,
      patience: this.#patience,
      // Ending only the stream would leave a socket open that nobody reads.
      sever: outgoing && (() => outgoing.destroy()),
      onEnd: (end, err) => {
        this.#open.delete(pump)
        metrics.eventStreamsOpen.set(this.#open.size)
        leave()
        if (end === 'cut') metrics.eventStreamsCut.inc()
        log[levels[end]]({ user: username, end, err }, 'event stream ended')
      },
    })
    this.#open.add(pump)
    metrics.eventStreamsOpen.set(this.#open.size)
    return pump.start()
  }
}

const levels = { complete: 'debug', stopped: 'debug', cut: 'warn', failed: 'error' } as const satisfies Record<
  StreamEnd,
  string
>
