/**
 * Gathers names, and then reports each, several at once. Names that could not be reported stay, and are tried again after a pause.
 * No I/O except the clock.
 */
import { backoffMs } from './backoff.ts'
import type { Clock } from './clock.ts'
import { Loop, type Rest } from './loop.ts'

export interface GatheringOptions {
  readonly clock: Clock
  /** Reports what is known of a name. */
  readonly tell: (name: string) => Promise<void>
  readonly onError: (error: unknown) => void
}

/** Names gather for so long: one cause makes several changes. */
const gatherMs = 50
const atOnce = 4
const retry = { baseMs: 200, capMs: 10_000 }
const never: Rest = { ms: 2 ** 31 - 1 }

export class Gathering {
  readonly #options: GatheringOptions
  readonly #names = new Set<string>()
  readonly #loop: Loop

  constructor(options: GatheringOptions) {
    const { clock, onError } = options
    this.#options = options
    this.#loop = new Loop({
      clock,
      round: async signal => {
        await clock.sleep(gatherMs, signal).catch(() => {})
        await this.#round(signal)
        return never
      },
      failed: (error, failures) => {
        onError(error)
        const ms = backoffMs(failures, retry)
        return { ms, deafMs: ms }
      },
    })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  add(name: string): void {
    this.addAll([name])
  }

  addAll(names: Iterable<string>): void {
    for (const name of names) this.#names.add(name)
    this.#loop.wake()
  }

  /** @throws the first error; all names that were not reported stay */
  async #round(signal: AbortSignal): Promise<void> {
    const names = [...this.#names]
    this.#names.clear()
    const tellRest = async () => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        try {
          if (!signal.aborted) await this.#options.tell(name)
        } catch (error) {
          for (const left of [name, ...names.splice(0)]) this.#names.add(left)
          throw error
        }
      }
    }
    const results = await Promise.allSettled(Array.from({ length: atOnce }, tellRest))
    const failed = results.find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }
}
