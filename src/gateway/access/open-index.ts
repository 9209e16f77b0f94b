/** What is open, by app and by session. Those of one session are looked at together. */
import type { Admission, Admitted } from './access.ts'
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

export interface Open {
  readonly appId: string
  readonly appUid: string
  /** Absent where nobody was asked for. */
  readonly watched: Watched | undefined
  readonly cut: (reason: CutReason) => void
}

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
    return this.#byApp.get(open.appId)?.has(open) ?? false
  }

  add({ route, admitted }: Admission, cut: (reason: CutReason) => void): Open {
    const watched = admitted && this.#watch(admitted)
    const open: Open = { appId: route.id, appUid: route.uid, watched, cut }
    this.#byApp.set(route.id, (this.#byApp.get(route.id) ?? new Set()).add(open))
    watched?.open.add(open)
    return open
  }

  remove(open: Open): void {
    const { appId, watched } = open
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
