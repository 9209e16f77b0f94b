/** The followers of streams, woken by the rings about their subjects. */
import { ListenersByKey } from '../base/listeners.ts'
import { type Subject, subjectText } from '../base/subject.ts'
import type { ReadPacer } from './read-pacer.ts'
import type { Ring } from './rings.ts'

/** Subjects whose last ring is remembered. A client that opens a stream follows it within milliseconds. */
const remembered = 1_000

/**
 * Rings without news for a follower: his first reading had the events of the acceptance, a release writes none, and those of
 * activity are in a stream of their own.
 */
const withoutEvents: ReadonlySet<Ring['what']> = new Set(['accepted', 'released', 'activity'])

export class Followers {
  /** By the text of the subject; the value is whether to read at once. */
  readonly #woken = new ListenersByKey<boolean>()
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
    const isUrgent = what !== 'events'
    if (!subject) {
      this.#unknownUpTo = this.#rings
      this.#woken.notifyAll(isUrgent)
      return
    }
    const key = subjectText(subject)
    this.#remember(key)
    this.#woken.notify(key, isUrgent)
  }

  /**
   * Wakes a pacer at each ring about its subject, and at once if there may have been one after ring `since`.
   * @returns a function that ends this
   */
  add(subject: Subject, pacer: ReadPacer, since: number): () => void {
    const key = subjectText(subject)
    const off = this.#woken.add(key, isUrgent => pacer.rung(isUrgent))
    if (Math.max(this.#last.get(key) ?? 0, this.#unknownUpTo) > since) pacer.rung(true)
    return off
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
