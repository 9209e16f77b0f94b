/** Listeners by the name of a subject, all of one kind, behind one listener of the bell. */
import { ListenersByKey } from '../base/listeners.ts'
import type { Bell } from './bell.ts'

export class SubjectBell {
  readonly #listeners = new ListenersByKey()
  readonly #off: () => void

  constructor(bell: Pick<Bell, 'on'>, kind: string) {
    this.#off = bell.on(({ subject }) => {
      if (!subject) this.#listeners.notifyAll()
      else if (subject.kind === kind) this.#listeners.notify(subject.name)
    })
  }

  /** Calls `wake` at each ring about this subject, and when rings were missed, until the returned function is called. */
  on(name: string, wake: () => void): () => void {
    return this.#listeners.add(name, wake)
  }

  close(): void {
    this.#off()
  }
}
