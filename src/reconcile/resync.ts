/** Looks at all keys again and again, spread over the interval: at once they would be as much work as a start. */
import type { Clock } from '../base/clock.ts'
import { jittered, Loop } from '../base/loop.ts'

export interface ResyncOptions {
  readonly clock: Clock
  /** The interval: each key is looked at once in it. */
  readonly ms: number
  /** All keys, as often as it likes. */
  readonly keys: () => Iterable<string>
  readonly look: (key: string) => void
}

/** Parts of the interval, each with its share of the keys. */
const parts = 60

export class Resync {
  readonly #loop: Loop
  readonly #rest: () => { readonly ms: number }

  constructor({ clock, ms, keys, look }: ResyncOptions) {
    let all: readonly string[] = []
    let part = 0
    this.#rest = () => ({ ms: jittered(ms / parts, 0.1) })
    const round = async () => {
      if (part === 0) all = [...new Set(keys())]
      const end = (index: number) => Math.floor((index * all.length) / parts)
      for (const key of all.slice(end(part), end(part + 1))) look(key)
      part = (part + 1) % parts
      return this.#rest()
    }
    this.#loop = new Loop({ clock, round, failed: this.#rest })
  }

  /** Begins with a rest. */
  start(): void {
    this.#loop.start(this.#rest())
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }
}
