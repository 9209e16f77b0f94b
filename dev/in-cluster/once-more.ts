/** A client that tries each request once more, and no further: what it takes from its users is counted. */
import { type Clock, systemClock } from '../../src/base/clock.ts'

/** What became of requests. */
export interface RequestCounts {
  readonly sent: number
  /** Answered by the second try. */
  readonly repeated: number
  /** Not answered by the second either: with what. */
  readonly failed: readonly string[]
}

export interface OnceMoreOptions {
  /** Default: fetch. */
  readonly send?: (url: string, request: RequestInit) => Promise<Response>
  readonly clock?: Clock
  readonly signal?: AbortSignal | undefined
}

/** Before the second try, where no answer says how long. */
const pauseMs = 1000
const notNow = [502, 503, 504]
/** From sending to the head of the answer: one that went with its replica would never come. */
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
