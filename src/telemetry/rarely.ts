/** Logs a lasting trouble when its reason changes, then rarely; logs its end once. */
import type { Clock } from '../base/clock.ts'

export interface RarelyOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void }
  /** The message while the trouble lasts, such as `Redis cannot be used`. The reason is a field. */
  readonly trouble: string
  /** The message when it is over. */
  readonly over: string
  /** Fields of every line. */
  readonly fields?: object
  /** Consecutive failures that are not logged yet: the end of a kept connection is normal. Default: none. */
  readonly tolerated?: number
}

/** Interval of logging the same reason again while the trouble lasts. */
const againMs = 300_000
/** Interval of logging the same reason again if the trouble was over meanwhile. */
const relapseMs = 30_000
/** Reasons to log within `againMs`: a server with new words for each failure must not fill the log. */
const maxReasons = 8

export class Rarely {
  readonly #options: RarelyOptions
  /** When each reason was last logged, the oldest first. */
  readonly #loggedAtMs = new Map<string, number>()
  #reason: string | undefined
  #failures = 0
  #beganMs = 0
  /** Whether this trouble has been logged. */
  #logged = false

  constructor(options: RarelyOptions) {
    this.#options = options
  }

  /** The latest reason; undefined without a trouble. */
  get reason(): string | undefined {
    return this.#reason
  }

  /**
   * Records a failure.
   * @param kind identifies the reason, if its words differ each time
   */
  failed(reason: string, fields: object = {}, kind = reason): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#reason === undefined) this.#beganMs = nowMs
    this.#reason = reason
    this.#failures += 1
    if (this.#failures <= (this.#options.tolerated ?? 0) || !this.#isDue(kind, nowMs)) return
    this.#loggedAtMs.delete(kind)
    this.#loggedAtMs.set(kind, nowMs)
    this.#logged = true
    const { log, trouble, fields: common } = this.#options
    log.warn({ ...common, ...fields, reason, ...this.#extent(nowMs) }, trouble)
  }

  /** Records a success. */
  worked(): void {
    if (this.#reason === undefined) return
    const { log, over, fields } = this.#options
    if (this.#logged) log.info({ ...fields, ...this.#extent(this.#options.clock.monotonicMs()) }, over)
    this.#reason = undefined
    this.#failures = 0
    this.#logged = false
  }

  #isDue(kind: string, nowMs: number): boolean {
    for (const [other, atMs] of this.#loggedAtMs) {
      if (nowMs - atMs >= againMs) this.#loggedAtMs.delete(other)
    }
    const atMs = this.#loggedAtMs.get(kind)
    if (atMs === undefined) return this.#loggedAtMs.size < maxReasons
    return !this.#logged && nowMs - atMs >= relapseMs
  }

  #extent(nowMs: number) {
    return { failures: this.#failures, forMs: Math.round(nowMs - this.#beganMs) }
  }
}
