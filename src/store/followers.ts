/** The followers of streams, woken by the rings about their subjects. */
import { type Subject, subjectText } from '../base/subject.ts'
import type { ReadPacer } from './read-pacer.ts'
import type { Ring } from './rings.ts'

/** Subjects whose last ring is remembered. A client that opens a stream follows it within milliseconds. */
const remembered = 1_000

/** Rings without news for a follower: his first reading had the events of the acceptance, and a release writes none. */
const withoutEvents: ReadonlySet<Ring['what']> = new Set(['accepted', 'released'])

export class Followers {
  readonly #pacers = new Map<string, Set<ReadPacer>>()
  /** Number of the last ring of each subject that rang lately; the oldest is first. */
  readonly #last = new Map<string, number>()
  /** Any subject may have rung up to this number. */
  #unknownUpTo = 0
  #rings = 0

  /** Number of the last ring. */
  get rings(): number {
    return this.#rings
  }

  /** Called on each ring. A ring for all wakes every follower. */
  ring({ what, subject }: Ring): void {
    if (withoutEvents.has(what)) return
    this.#rings += 1
    const key = subject && subjectText(subject)
    if (key === undefined) this.#unknownUpTo = this.#rings
    else this.#remember(key)
    const woken = key === undefined ? this.#pacers.values() : [this.#pacers.get(key) ?? []]
    for (const pacers of woken) for (const pacer of pacers) pacer.rung(what !== 'events')
  }

  /**
   * Wakes a pacer at each ring about its subject, and at once if there may have been one after ring `since`.
   * @returns a function that ends this
   */
  add(subject: Subject, pacer: ReadPacer, since: number): () => void {
    const key = subjectText(subject)
    const pacers = this.#pacers.get(key) ?? new Set()
    this.#pacers.set(key, pacers)
    pacers.add(pacer)
    if (Math.max(this.#last.get(key) ?? 0, this.#unknownUpTo) > since) pacer.rung(true)
    return () => {
      pacers.delete(pacer)
      if (pacers.size === 0 && this.#pacers.get(key) === pacers) this.#pacers.delete(key)
    }
  }

  #remember(key: string): void {
    this.#last.delete(key)
    this.#last.set(key, this.#rings)
    if (this.#last.size <= remembered) return
    const [oldest, number] = this.#last.entries().next().value!
    this.#last.delete(oldest)
    this.#unknownUpTo = number
  }
}
