/**
 * A cache of one kind of object, kept current by a list and then a watch. It may lag, and it may miss states between
 * two others, but never the last one. An object that it lacks is not known to be gone: see `Change`.
 *
 * A round: list in pages (only at first, after 410, and on the slow resync) → watch with bookmarks → when the stream
 * ends, for any reason, wait a growing time and resume at the last resource version.
 */

import { backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { isKnown, reasonOf } from '../base/reasons.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { keyOf } from './cache.ts'
import type { KubeClient, ListScope } from './client.ts'
import { KubeError, watchError } from './errors.ts'
import { type ChangeListener, Picture, type PictureOptions } from './picture.ts'
import { inOperatorsWords } from './refusals.ts'
import { readEvent, type SeenObject, seenObject } from './seen.ts'

export type { Change, ChangeListener } from './picture.ts'

export interface ReflectorTimes {
  /** The server ends a watch after this time; the client does so a little later by itself. */
  readonly watchTimeoutMs: number
  /** A watch without any message for this long, including bookmarks, is considered dead. */
  readonly silenceMs: number
  /** Interval of complete lists, in case events were lost without a trace. */
  readonly resyncMs: number
  /** Minimum time between the beginnings of two lists. */
  readonly relistGapMs: number
  /** First and longest wait between rounds. */
  readonly pauseMs: number
  readonly pauseCapMs: number
}

const defaultTimes: ReflectorTimes = {
  watchTimeoutMs: 300_000,
  // Bookmarks come about once a minute.
  silenceMs: 90_000,
  resyncMs: 1_800_000,
  relistGapMs: 2_000,
  pauseMs: 250,
  pauseCapMs: 5_000,
}

/** Time that the server gets beyond its own time-out. */
const timeoutMarginMs = 10_000
/** A watch that lived this long, or half of its time, does not count as a failure when it ends. */
const healthyLifeMs = 10_000

export interface ReflectorOptions<T> extends ListScope, PictureOptions<T> {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>
  readonly apiVersion: string
  readonly clock: Clock
  /** Called after every complete list. */
  readonly onSync?: () => void
  readonly times?: Partial<ReflectorTimes>
}

/** Counts since the start. */
export interface ReflectorStats {
  readonly lists: number
  /** Number of watches that the server opened. */
  readonly watches: number
  /** Number of events of an unknown type, or without an object. */
  readonly ignored: number
  /** Number of listeners that threw, and of objects that could not be read or projected. */
  readonly errors: number
}

export class Reflector<T> {
  readonly #options: ReflectorOptions<T>
  readonly #times: ReflectorTimes
  readonly #picture: Picture<T>
  readonly #stopping = new AbortController()
  readonly #firstList = Promise.withResolvers<void>()
  readonly #trouble: Rarely
  readonly #stats = { lists: 0, watches: 0, ignored: 0 }
  #running: Promise<void> | undefined
  #synced = false
  /** The server has opened the current watch. */
  #isOpen = false
  /** The version at which the next watch begins; undefined when a list must come first. */
  #resourceVersion: string | undefined
  #current: Deadline | undefined
  #listBeganMs = Number.NEGATIVE_INFINITY
  #resyncAtMs = 0
  /** Number of lost states, and what it was when the last complete list began. */
  #lost = 0
  #lostBeforeList = 0
  #heardAtMs: number
  /** Number of consecutive rounds without a result. */
  #failures = 0

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#times = { ...defaultTimes, ...options.times }
    this.#picture = new Picture(options, () => this.#listAgain())
    const { clock, log, kind } = options
    const words = { trouble: 'watch failed again', over: 'watch works again', fields: { kind } }
    // Every watch ends from time to time.
    this.#trouble = new Rarely({ clock, log, ...words, tolerated: 1 })
    this.#heardAtMs = this.#nowMs()
  }

  /** Lists and watches until `stop`, which is final. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal)
  }

  /** Ends the watch, and returns when nothing runs any more. The cache stays readable. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the reflector was stopped'))
    await this.#running
  }

  /** Whether a complete list was ever read. */
  synced(): boolean {
    return this.#synced
  }

  /** Resolves after the first complete list; rejects with the signal's reason when that comes first. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return unlessAborted(this.#firstList.promise, signal)
  }

  /** By `namespace/name`, or by name where there is no namespace. */
  get(key: string): T | undefined {
    return this.#picture.cache.get(key)?.value
  }

  values(): Iterable<T> {
    return this.#picture.cache.values()
  }

  /** The objects of one namespace, the one changed last at the end. */
  byNamespace(namespace: string): Iterable<T> {
    return this.#picture.cache.valuesOf(namespace)
  }

  get size(): number {
    return this.#picture.cache.size
  }

  /**
   * Calls the listener with every change from now on, after the cache has it. Errors of a listener are logged, and do
   * not affect others.
   * @returns a function that removes the listener
   */
  on(listener: ChangeListener<T>): () => void {
    return this.#picture.on(listener)
  }

  /**
   * Milliseconds since the API server last sent something about this kind: an event, a bookmark, a page, an opened
   * watch.
   */
  lastWordAgeMs(): number {
    return this.#nowMs() - this.#heardAtMs
  }

  /** Why the last rounds had no result, in an operator's words; undefined while there is no problem. */
  trouble(): string | undefined {
    return this.#failures > 1 && !this.#isOpen ? this.#trouble.reason : undefined
  }

  stats(): ReflectorStats {
    return { ...this.#stats, errors: this.#picture.errors }
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const cause = await this.#round(signal).catch((error: unknown) => error)
      if (!signal.aborted) await this.#pause(cause, signal)
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    this.#failures += 1
    if (this.#resourceVersion === undefined || this.#nowMs() >= this.#resyncAtMs) await this.#list(signal)
    // A list may have passed an object already whose state is lost while it goes on.
    while (this.#lost > this.#lostBeforeList) await this.#list(signal)
    try {
      await this.#watch(this.#resourceVersion!, signal)
    } catch (error) {
      if (isAboutVersion(error)) this.#resourceVersion = undefined
      throw error
    }
  }

  async #pause(cause: unknown, signal: AbortSignal): Promise<void> {
    const { kind, clock, log } = this.#options
    const reason = cause instanceof Error ? inOperatorsWords(cause) : 'the server ended it'
    const askedMs = cause instanceof KubeError ? (cause.retryAfterMs ?? 0) : 0
    const pauseMs = askedMs + backoffMs(this.#failures, { baseMs: this.#times.pauseMs, capMs: this.#times.pauseCapMs })
    // A watch that lived long enough, or had a result, is not a failure. Failed connections are logged once for all
    // watches.
    const isOwn = this.#failures > 0 && !isOfConnection(cause)
    if (isOwn) this.#trouble.failed(reason)
    if (this.#failures <= 1 || !isOwn) log.debug({ kind, reason }, 'watch ended')
    await clock.sleep(pauseMs, signal).catch(() => {})
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, apiVersion, kind, clock, onSync } = this.#options
    const earlyMs = this.#listBeganMs + this.#times.relistGapMs - this.#nowMs()
    if (earlyMs > 0) await clock.sleep(earlyMs, signal)
    this.#listBeganMs = this.#nowMs()
    const lost = this.#lost
    const listed = new Set<string>()
    let resourceVersion: string | undefined
    for await (const page of client.pages(apiVersion, kind, { ...this.#scope(), signal })) {
      if (page.first) listed.clear()
      for (const object of page.items) {
        this.#picture.put(seenObject(object))
        listed.add(keyOf(object.metadata.namespace, object.metadata.name))
      }
      resourceVersion = page.resourceVersion
      this.#heard()
    }
    this.#picture.keepOnly(listed)
    this.#resourceVersion = resourceVersion
    // Spread, so that replicas that started together do not list together.
    this.#resyncAtMs = this.#nowMs() + this.#times.resyncMs * (0.9 + Math.random() / 5)
    this.#lostBeforeList = lost
    this.#stats.lists += 1
    this.#synced = true
    this.#firstList.resolve()
    onSync?.()
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, apiVersion, kind, clock } = this.#options
    const beganMs = this.#nowMs()
    const timeoutSeconds = Math.ceil(this.#times.watchTimeoutMs / 1000)
    const deadline = new Deadline(clock, this.#times.watchTimeoutMs + timeoutMarginMs, signal)
    const options = { ...this.#scope(), resourceVersion, timeoutSeconds, signal: deadline.signal }
    this.#current = deadline
    try {
      const watch = await client.watch(apiVersion, kind, options)
      this.#stats.watches += 1
      this.#heard()
      this.#isOpen = true
      this.#endSilence(deadline).catch(() => {})
      await watch.read(line => this.#receive(line))
    } finally {
      this.#isOpen = false
      deadline.release()
      deadline.abort(new Error('the watch is over'))
      if (this.#nowMs() - beganMs >= Math.min(healthyLifeMs, this.#times.watchTimeoutMs / 2)) this.#works()
    }
  }

  /** A state was lost. The next list brings the last one. */
  #listAgain(): void {
    this.#lost += 1
    this.#current?.abort(new Error('an object of the watch could not be read'))
  }

  /** One timer for a whole watch, however many events come. */
  async #endSilence(watch: Deadline): Promise<void> {
    for (;;) {
      const restMs = this.#heardAtMs + this.#times.silenceMs - this.#nowMs()
      if (restMs <= 0) return watch.abort(new Error(`nothing was heard for ${this.#times.silenceMs} ms`))
      await this.#options.clock.sleep(restMs, watch.signal)
    }
  }

  /** Handles one line. A line that cannot be read ends the watch, and the next watch brings the event again. */
  #receive(line: Buffer): void {
    const event = readEvent(line)
    this.#heard()
    if (event.type === 'ERROR') {
      this.#resourceVersion = undefined
      throw watchError(event.whole?.object)
    }
    if (!event.seen || !this.#apply(event.type, event.seen)) {
      this.#stats.ignored += 1
      return
    }
    this.#resourceVersion = event.seen.resourceVersion
    this.#works()
  }

  #works(): void {
    this.#failures = 0
    this.#trouble.worked()
  }

  /** @returns false for an unknown type */
  #apply(type: string, seen: SeenObject): boolean {
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#picture.put(seen)
        return true
      case 'DELETED':
        this.#picture.remove(seen)
        return true
      case 'BOOKMARK':
        return true
      default:
        return false
    }
  }

  #scope(): ListScope {
    const { namespace, labelSelector, fieldSelector } = this.#options
    return { namespace, labelSelector, fieldSelector }
  }

  #heard(): void {
    this.#heardAtMs = this.#nowMs()
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}

/** The client reports those itself, once for all watches. */
function isOfConnection(cause: unknown): boolean {
  const error = cause instanceof RetryLater ? cause.cause : cause
  if (error instanceof KubeError) return error.status === 401
  return error instanceof NeedsSomeone || (error !== undefined && isKnown(reasonOf(error)))
}

/**
 * Whether a watch was refused because of its resource version: it is too old, or makes no sense to a server whose data
 * was restored. Lost connections, busy servers and missing rights are other reasons.
 */
function isAboutVersion(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false
  return error.status >= 400 && error.status < 500 && ![401, 403, 429].includes(error.status)
}
