/** Reads containers again when they change: one read of each at a time, for everybody who is inside. */
import { ApiError, isUnavailable } from '../base/errors.ts'
import { isNotRunning } from '../containers/problems.ts'
import type { Containers } from '../containers/service.ts'
import type { Asker } from './visits.ts'

/** Somebody in a container, or on the way. */
export interface Watcher {
  readonly asker: Asker
  /** Undefined until it is in: an answer to an older question says nothing about it. */
  readonly run: number | undefined
  /** Called when its run is over. */
  over(): void
}

export interface WatchesParts {
  readonly containers: Pick<Containers, 'reach'>
  /** Calls a listener when a container has changed. */
  readonly onMore: (uuid: string, listener: () => void) => () => void
}

export class Watches {
  readonly #parts: WatchesParts
  readonly #all = new Map<string, Watch>()

  constructor(parts: WatchesParts) {
    this.#parts = parts
  }

  /** The watch of a container, with one more watcher, until `leave`. */
  enter(uuid: string, watcher: Watcher): { readonly watch: Watch; leave(): void } {
    const watch = this.#all.get(uuid) ?? new Watch(uuid, this.#parts)
    this.#all.set(uuid, watch)
    watch.watchers.add(watcher)
    return {
      watch,
      leave: () => {
        watch.watchers.delete(watcher)
        if (watch.watchers.size > 0) return
        watch.end()
        this.#all.delete(uuid)
      },
    }
  }
}

/** Of one container. */
export class Watch {
  readonly watchers = new Set<Watcher>()
  readonly #uuid: string
  readonly #containers: WatchesParts['containers']
  readonly end: () => void
  /** How often it has changed since the watch began. */
  changes = 0
  #isOld = false
  #isReading = false

  constructor(uuid: string, { containers, onMore }: WatchesParts) {
    this.#uuid = uuid
    this.#containers = containers
    this.end = onMore(uuid, () => {
      this.changes += 1
      void this.look()
    })
  }

  /** Asks for a read that begins now, or after the present one. */
  async look(): Promise<void> {
    this.#isOld = true
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#isOld && this.watchers.size > 0) {
        this.#isOld = false
        await this.#read()
      }
    } finally {
      this.#isReading = false
    }
  }

  async #read(): Promise<void> {
    const inside = [...this.watchers].filter(({ run }) => run !== undefined)
    const [anyone] = inside
    if (!anyone) return
    const run = await this.#runNow(anyone.asker)
    if (run === 'unknown') return
    for (const watcher of inside) if (watcher.run !== run) watcher.over()
  }

  /** Whoever is in may see it: it has one owner for ever. */
  async #runNow(asker: Asker): Promise<number | 'none' | 'unknown'> {
    try {
      return (await this.#containers.reach(this.#uuid, asker)).run
    } catch (error) {
      // Where nobody answers, nothing is known. One that waits again is known: its run is over.
      return error instanceof ApiError && (isNotRunning(error) || !isUnavailable(error)) ? 'none' : 'unknown'
    }
  }
}
