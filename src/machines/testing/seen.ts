/** For tests: records what keepers report for metrics, in order. */
import type { Sight } from '../sight.ts'

type Word = [what: keyof Sight, ...about: unknown[]]

export class Seen {
  readonly words: Word[] = []
  /** Since when an entry waits, of each keeper that listens. */
  readonly waits = new Set<() => number>()

  /** The reports of these kinds. */
  of(...whats: readonly Word[0][]): readonly Word[] {
    return this.words.filter(([what]) => whats.includes(what))
  }

  readonly sight: Sight = {
    reached: seconds => this.#tell('reached', seconds),
    ready: seconds => this.#tell('ready', seconds),
    booted: outcome => this.#tell('booted', outcome),
    vanished: state => this.#tell('vanished', state),
    gone: seconds => this.#tell('gone', seconds),
    asked: (isAnswered, seconds) => this.#tell('asked', isAnswered, seconds),
    began: seconds => this.#tell('began', seconds),
    stale: reason => this.#tell('stale', reason),
    listens: waited => {
      this.waits.add(waited)
      return () => this.waits.delete(waited)
    },
  }

  #tell(...word: Word): void {
    this.words.push(word)
  }
}
