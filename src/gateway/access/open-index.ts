/** What is open, by app and by session. Those of one session are looked at together. */
import type { Admitted } from './access.ts'
import { keyOf, type Seen } from './checks.ts'
import type { CutReason } from './guard.ts'
import type { Person } from './tables.ts'

/** One session that has something open. */
export interface Watched {
  readonly seen: Seen
  readonly open: Set<Open>
  person: Person
  /** Of the login. */
  version: string
  /** When the last look began that found it to hold. */
  lookedMs: number
}

/** What was let in by a verdict, and stays open. */
export interface Opening {
  readonly appId: string
  readonly appUid: string
  /** As in the verdict; absent where nobody was asked for. */
  readonly person?: Person | undefined
  /** As in the verdict. */
  readonly admitted?: Admitted | undefined
  /** Called once; it must end what is open. */
  cut(reason: CutReason): void
}

export interface Open {
  readonly opening: Opening
  readonly watched: Watched | undefined
}

/** Who it is by now. */
export const personOf = ({ opening, watched }: Open): Person | undefined => watched?.person ?? opening.person

export class OpenIndex {
  readonly #bySession = new Map<string, Watched>()
  readonly #byApp = new Map<string, Set<Open>>()

  all(): Open[] {
    return [...this.#byApp.values()].flatMap(open => [...open])
  }

  ofApp(id: string): Open[] {
    return [...(this.#byApp.get(id) ?? [])]
  }

  sessions(): Watched[] {
    return [...this.#bySession.values()]
  }

  has(open: Open): boolean {
    return this.#byApp.get(open.opening.appId)?.has(open) ?? false
  }

  add(opening: Opening): Open {
    const { appId, admitted } = opening
    const watched = admitted && this.#watch(admitted)
    const open: Open = { opening, watched }
    this.#byApp.set(appId, (this.#byApp.get(appId) ?? new Set()).add(open))
    watched?.open.add(open)
    return open
  }

  remove(open: Open): void {
    const { opening, watched } = open
    const { appId } = opening
    const ofApp = this.#byApp.get(appId)
    ofApp?.delete(open)
    if (ofApp?.size === 0) this.#byApp.delete(appId)
    watched?.open.delete(open)
    if (watched?.open.size !== 0) return
    const key = keyOf(watched.seen.claim)
    if (this.#bySession.get(key) === watched) this.#bySession.delete(key)
  }

  #watch({ seen, visitor, version }: Admitted): Watched {
    const key = keyOf(seen.claim)
    const known = this.#bySession.get(key)
    if (known) {
      if (!seen.isVoid) known.lookedMs = Math.max(known.lookedMs, seen.atMs)
      return known
    }
    const watched: Watched = { seen, open: new Set(), person: visitor, version, lookedMs: seen.atMs }
    this.#bySession.set(key, watched)
    return watched
  }
}
