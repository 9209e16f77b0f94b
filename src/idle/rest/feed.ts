/**
 * The events of activity for the streams of this replica. One reader follows the stream in Redis, once for each ring, and wakes
 * the streams that an event is for: a waiting client costs nothing, and one that comes back is served from memory.
 *
 * An id is `<series>-<number>`. A series begins when Redis has lost its data. A place beyond the end belongs to a lost stream: it
 * is answered with all events that are kept.
 */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { asObject } from '../../base/json.ts'
import { ListenersByKey } from '../../base/listeners.ts'
import { type Log, logUnexpected } from '../../base/log.ts'
import { Loop, type Rest, restAfter } from '../../base/loop.ts'
import type { ActivityStore } from '../../store/activity.ts'
import type { Bell } from '../../store/bell.ts'
import type { StoredActivityEvent } from '../../store/idle.ts'
import { parseEventId } from '../../store/streams.ts'
import { timeText } from '../decisions/words.ts'
import type { Workload } from '../workloads/workload.ts'
import { type EventPlace, isAfter, listOf, Mirror, type MirroredEvent, startOfEvents } from './mirror.ts'
import type { ShownEvent, ShownEvents, Whose } from './service.ts'

export interface ActivityFeedOptions {
  readonly store: Pick<ActivityStore, 'readEvents'>
  readonly bell: Pick<Bell, 'on'>
  readonly clock: Clock
  readonly log: Log
  readonly ownerOf: (workload: Workload) => string | undefined
  /** Default: as many as Redis keeps. */
  readonly most?: number
}

/** Events per reading, and per piece that a client gets. */
const batchSize = 256
/** One reading serves all rings meanwhile. */
const gatherMs = 20
const never: Rest = { ms: 2 ** 31 - 1, deafMs: gatherMs }
const retry = { baseMs: 200, capMs: 5_000 }

export class ActivityFeed {
  readonly #options: ActivityFeedOptions
  readonly #loop: Loop
  readonly #woken = new ListenersByKey()
  #mirror: Mirror
  /** Called after the next round that begins from now on. */
  #waiting: PromiseWithResolvers<void>[] = []
  #isStarted = false
  #hasRead = false
  #off: (() => void) | undefined

  constructor(options: ActivityFeedOptions) {
    const { clock, log, most } = options
    this.#options = options
    this.#mirror = new Mirror(most)
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      failed: (error, failures) => {
        logUnexpected(log, error, 'events of activity cannot be read')
        return restAfter(failures, retry)
      },
    })
  }

  start(): void {
    this.#off = this.#options.bell.on(({ what }) => {
      if (what === 'activity' || what === 'missed') this.#loop.wake()
    })
    this.#isStarted = true
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#off?.()
    await this.#loop.stop()
    for (const { reject } of this.#waiting.splice(0)) reject(notReading())
  }

  /**
   * Opens a stream after the event that the client names, else at the present end.
   * @throws {ApiError} 400 when `lastEventId` is not the id of an event
   * @throws {RetryLater} when Redis does not answer
   */
  async open(whose: Whose, lastEventId: string | undefined): Promise<ShownEvents> {
    const named = lastEventId === undefined ? undefined : parseEventId(lastEventId)
    // Another replica may be ahead of this one.
    if (!this.#hasRead || (named && isAfter(named, this.#mirror.end))) await this.#nextRound()
    const { end } = this.#mirror
    const isLost = named !== undefined && isAfter(named, end)
    const from = isLost ? startOfEvents : (named ?? end)
    return { read: signal => this.#follow(listOf(whose), from, this.#mirror, signal) }
  }

  async *#follow(
    list: string,
    from: EventPlace,
    mirror: Mirror,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ShownEvent[]> {
    let place = from
    let current = mirror
    while (!signal.aborted) {
      if (current !== this.#mirror) {
        current = this.#mirror
        place = startOfEvents
      }
      const batch = current.after(list, place, batchSize)
      const last = batch.at(-1)
      if (!last) await this.#woke(list, signal)
      else {
        place = last.place
        yield batch.map(({ shown }) => shown)
      }
    }
  }

  #woke(list: string, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        off()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const off = this.#woken.add(list, wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  #nextRound(): Promise<void> {
    if (!this.#isStarted || this.#loop.signal.aborted) return Promise.reject(notReading())
    const waiter = Promise.withResolvers<void>()
    this.#waiting.push(waiter)
    this.#loop.wake()
    return waiter.promise
  }

  async #round(): Promise<Rest> {
    const waiting = this.#waiting.splice(0)
    try {
      while (await this.#readOn());
      this.#hasRead = true
      for (const { resolve } of waiting) resolve()
      return never
    } catch (error) {
      for (const { reject } of waiting) reject(error)
      throw error
    }
  }

  /** @returns whether there may be more */
  async #readOn(): Promise<boolean> {
    const { end } = this.#mirror
    const read = await this.#options.store.readEvents(textOf(end), batchSize)
    const events = read.events.map(event => this.#mirrored(event))
    const first = events[0]
    // The stream was lost and begun anew, with a lower series: the clock of Redis had gone back.
    if (first && !isAfter(first.place, end)) {
      this.#mirror = new Mirror(this.#options.most)
      this.#woken.notifyAll()
    }
    const lists = new Set<string>()
    for (const event of events) {
      this.#mirror.add(event)
      for (const list of event.lists) lists.add(list)
    }
    for (const list of lists) this.#woken.notify(list)
    return events.length === batchSize
  }

  #mirrored({ id: eventId, kind, workload: id, atMs, event, data }: StoredActivityEvent): MirroredEvent {
    const owner = this.#options.ownerOf({ kind, id })
    const lists = [
      listOf('everybody'),
      ...(owner === undefined ? [] : [listOf({ user: owner })]),
      ...(kind === 'lab' ? [listOf({ lab: id })] : []),
    ]
    const shown = { ...asObject(parsed(data)), kind, id, at: timeText(atMs) }
    return { place: parseEventId(eventId), lists, shown: { id: eventId, event, data: JSON.stringify(shown) } }
  }
}

const notReading = () => new RetryLater('this replica does not read the events now')

const textOf = ({ series, seq }: EventPlace) => `${series}-${seq}`

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return {}
  }
}
