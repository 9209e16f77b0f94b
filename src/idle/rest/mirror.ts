/** The events of activity that Redis keeps, in memory: as many streams as there are read them without asking Redis. Pure. */
import type { ShownEvent, Whose } from './service.ts'

/** As many as Redis keeps, about. */
const mostKept = 10_000

/** A place in the stream of events: those up to it were read. */
export interface EventPlace {
  readonly series: number
  readonly seq: number
}

export interface MirroredEvent {
  readonly place: EventPlace
  readonly shown: ShownEvent
  /** The lists that it is in, by `listOf`. */
  readonly lists: readonly string[]
}

/** The name of the list with somebody's events. No user name has a colon. */
export const listOf = (whose: Whose): string => {
  if (whose === 'everybody') return 'everybody'
  return 'user' in whose ? `user:${whose.user}` : `lab:${whose.lab}`
}

export const startOfEvents: EventPlace = { series: 0, seq: 0 }

export const isAfter = (one: EventPlace, other: EventPlace): boolean =>
  one.series > other.series || (one.series === other.series && one.seq > other.seq)

export class Mirror {
  readonly #most: number
  readonly #all: MirroredEvent[] = []
  readonly #lists = new Map<string, MirroredEvent[]>()

  constructor(most = mostKept) {
    this.#most = most
  }

  /** The place of the newest event. */
  get end(): EventPlace {
    return this.#all.at(-1)?.place ?? startOfEvents
  }

  /** Number of events. */
  get size(): number {
    return this.#all.length
  }

  /** Adds an event after all others. */
  add(event: MirroredEvent): void {
    this.#all.push(event)
    for (const name of event.lists) {
      const list = this.#lists.get(name) ?? []
      this.#lists.set(name, list)
      list.push(event)
    }
    // In pieces, since the removal of each would move all others.
    if (this.#all.length > this.#most * 1.1) this.#trim()
  }

  /** At most `limit` events of a list after a place. */
  after(name: string, place: EventPlace, limit: number): readonly MirroredEvent[] {
    const list = this.#lists.get(name) ?? []
    // Readers are mostly near the end.
    let from = list.length
    while (from > 0 && isAfter(list[from - 1]!.place, place)) from -= 1
    return list.slice(from, from + limit)
  }

  #trim(): void {
    const dropped = new Set(this.#all.splice(0, this.#all.length - this.#most))
    for (const name of new Set([...dropped].flatMap(({ lists }) => lists))) {
      const left = this.#lists.get(name)!.filter(event => !dropped.has(event))
      if (left.length > 0) this.#lists.set(name, left)
      else this.#lists.delete(name)
    }
  }
}
