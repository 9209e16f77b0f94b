/** Wakes the keepers of a replica when the bell rings about their machine, with one listener for all. */
import type { Bell } from '../store/bell.ts'
import { machineKind } from '../store/dispatch-keys.ts'

export class Wakes {
  readonly #byName = new Map<string, () => void>()
  readonly #off: () => void

  constructor(bell: Pick<Bell, 'on'>) {
    this.#off = bell.on(({ subject }) => {
      if (subject === undefined) for (const wake of this.#byName.values()) wake()
      else if (subject.kind === machineKind) this.#byName.get(subject.name)?.()
    })
  }

  /** Calls `wake` at each ring about this machine, until the returned function is called. */
  on(name: string, wake: () => void): () => void {
    this.#byName.set(name, wake)
    return () => {
      if (this.#byName.get(name) === wake) this.#byName.delete(name)
    }
  }

  close(): void {
    this.#off()
  }
}
