/** A client that tries each request twice at most, and counts the second tries and the failures. */
import { type Clock, systemClock } from '../../src/base/clock.ts'

/** Outcomes of requests. */
export interface RequestCounts {
  readonly sent: number
  /** Requests that the second try answered. */
  readonly repeated: number
  /** Requests that the second try did not answer either, with the reason. */
  readonly failed: readonly string[]
}

export interface OnceMoreOptions {
  /** Default: fetch. */
  readonly send?: (url: string, request: RequestInit) => Promise<Response>
  readonly clock?: Clock
  readonly signal?: AbortSignal | undefined
}

/** Pause before the second try when no answer names one. */
const pauseMs = 1000
const notNow = [502, 503, 504]
/** Limit from sending to the head of the answer: when its replica is gone, the answer never comes. */
const answerLimitMs = 30_000

export class OnceMore {
  readonly #options: OnceMoreOptions
  readonly #clock: Clock
  #sent = 0
  #repeated = 0
  readonly #failed: string[] = []

  constructor(options: OnceMoreOptions = {}) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  get counts(): RequestCounts {
    return { sent: this.#sent, repeated: this.#repeated, failed: [...this.#failed] }
  }

  /** The answer of the first or the second try; throws when both fail. */
  async send(url: string, request: RequestInit = {}): Promise<Response> {
    this.#sent += 1
    const first = await this.#try(url, request)
    if (first instanceof Response && !notNow.includes(first.status)) return first
    await this.#clock.sleep(await retryMs(first), this.#options.signal)
    const second = await this.#try(url, request)
    this.#repeated += 1
    if (second instanceof Response && !notNow.includes(second.status)) return second
    const words = second instanceof Response ? `${second.status} ${await second.text()}` : second.message
    this.#failed.push(`${request.method ?? 'GET'} ${new URL(url).pathname}: ${words}`)
    throw new Error(this.#failed.at(-1))
  }

  async #try(url: string, request: RequestInit): Promise<Response | Error> {
    const { send = fetch, signal } = this.#options
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${answerLimitMs / 1000} s`)), answerLimitMs)
    const ends = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal
    try {
      return await send(url, { ...request, redirect: 'manual', signal: ends })
    } catch (error) {
      signal?.throwIfAborted()
      return error as Error
    } finally {
      clearTimeout(timer)
    }
  }
}

async function retryMs(first: Response | Error): Promise<number> {
  if (first instanceof Error) return pauseMs
  await first.body?.cancel()
  const seconds = Number(first.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : pauseMs
}
