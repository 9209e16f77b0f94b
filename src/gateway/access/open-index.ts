/** What is open, by app, by session and by token. Those of one session, or of one token, are looked at together. */
import type { Admitted } from './access.ts'
import type { Bearer, Borne } from './bearers.ts'
import type { Seen } from './checks.ts'
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
  /** As in the verdict. */
  readonly bearer?: Bearer | undefined
  /** Called once; it must end what is open. */
  cut(reason: CutReason): void
}

export interface Open {
  readonly opening: Opening
  readonly watched: Watched | undefined
  readonly borne: Borne | undefined
  /** Neither cut nor removed. */
  isOpen: boolean
}

/** Who it is by now. */
export const personOf = ({ opening, watched, borne }: Open): Person | undefined => (watched ?? borne ?? opening).person

export class OpenIndex {
  readonly #bySession = new Map<string, Watched>()
  readonly #byToken = new Map<string, Borne>()
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

  tokens(): Borne[] {
    return [...this.#byToken.values()]
  }

  add(opening: Opening): Open {
    const { appId, admitted, bearer, person } = opening
    const watched = admitted && this.#watch(admitted)
    const borne = bearer && person && this.#bear(bearer, person)
    const open: Open = { opening, watched, borne, isOpen: true }
    const ofApp = this.#byApp.get(appId)
    if (ofApp) ofApp.add(open)
    else this.#byApp.set(appId, new Set([open]))
    watched?.open.add(open)
    borne?.open.add(open)
    return open
  }

  remove(open: Open): void {
    if (!open.isOpen) return
    open.isOpen = false
    const { opening, watched, borne } = open
    const { appId } = opening
    const ofApp = this.#byApp.get(appId)
    ofApp?.delete(open)
    if (ofApp?.size === 0) this.#byApp.delete(appId)
    watched?.open.delete(open)
    if (watched?.open.size === 0) this.#bySession.delete(watched.seen.key)
    borne?.open.delete(open)
    if (borne?.open.size === 0) this.#byToken.delete(borne.bearer.key)
  }

  #watch({ seen, visitor, version }: Admitted): Watched {
    const known = this.#bySession.get(seen.key)
    if (known) {
      if (!seen.isVoid) known.lookedMs = Math.max(known.lookedMs, seen.atMs)
      return known
    }
    const watched: Watched = { seen, open: new Set(), person: visitor, version, lookedMs: seen.atMs }
    this.#bySession.set(seen.key, watched)
    return watched
  }

  #bear(bearer: Bearer, person: Person): Borne {
    const known = this.#byToken.get(bearer.key)
    if (known) {
      if (bearer.atMs >= known.lookedMs) Object.assign(known, { person, lookedMs: bearer.atMs })
      return known
    }
    const borne: Borne = { bearer, open: new Set(), person, lookedMs: bearer.atMs, isAsked: false }
    this.#byToken.set(bearer.key, borne)
    return borne
  }
}
