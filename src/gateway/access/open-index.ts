/** Open connections, by app, by session and by token. Those of one session, or of one token, are looked at together. */

import type { Person } from '../../store/apps/members.ts'
import { Pile, type Place } from '../pile.ts'
import type { Admitted } from './access.ts'
import type { Asked, Bearer } from './bearers.ts'
import type { Seen } from './checks.ts'
import type { CutReason } from './guard.ts'

/** One session that has something open. */
export interface Watched {
  seen: Seen
  readonly open: Pile<Open>
  person: Person
  /** The version of the login. */
  version: string
  /** When the last look began that found it to hold. */
  lookedMs: number
  /** It was revoked since, or may have been: nothing passes before it was looked at. */
  isVoid: boolean
}

/** One token that has something open. */
export interface Borne extends Asked {
  readonly open: Pile<Open>
}

/** A connection that a verdict let in, and that stays open. */
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
  /** In the piles that have it. */
  readonly places: Place<Open>[]
}

/** The person by now. */
export const personOf = ({ opening, watched, borne }: Open): Person | undefined => (watched ?? borne ?? opening).person

/** A session or token with nothing open stays until `prune`: the next request needs it again. */
export class OpenIndex {
  readonly #bySession = new Map<string, Watched>()
  readonly #byToken = new Map<string, Borne>()
  readonly #byApp = new Map<string, Pile<Open>>()

  all(): Open[] {
    return [...this.#byApp.values()].flatMap(open => open.all())
  }

  ofApp(id: string): Open[] {
    return this.#byApp.get(id)?.all() ?? []
  }

  sessions(): Watched[] {
    return [...this.#bySession.values()].filter(({ open }) => open.size > 0)
  }

  tokens(): Borne[] {
    return [...this.#byToken.values()].filter(({ open }) => open.size > 0)
  }

  add(opening: Opening): Open {
    const { appId, admitted, bearer, person } = opening
    const watched = admitted && this.#watch(admitted)
    const borne = bearer && person && this.#bear(bearer, person)
    const open: Open = { opening, watched, borne, isOpen: true, places: [] }
    open.places.push(this.#pileOf(appId).add(open))
    if (watched) open.places.push(watched.open.add(open))
    if (borne) open.places.push(borne.open.add(open))
    return open
  }

  remove(open: Open): void {
    open.isOpen = false
    for (const place of open.places) place.remove()
  }

  prune(): void {
    for (const [id, open] of this.#byApp) if (open.size === 0) this.#byApp.delete(id)
    for (const [key, { open }] of this.#bySession) if (open.size === 0) this.#bySession.delete(key)
    for (const [key, { open }] of this.#byToken) if (open.size === 0) this.#byToken.delete(key)
  }

  #pileOf(appId: string): Pile<Open> {
    const known = this.#byApp.get(appId)
    if (known) return known
    const pile = new Pile<Open>()
    this.#byApp.set(appId, pile)
    return pile
  }

  #watch({ seen, visitor, version }: Admitted): Watched {
    const known = this.#bySession.get(seen.key)
    if (known && known.open.size > 0) {
      if (!seen.isVoid) known.lookedMs = Math.max(known.lookedMs, seen.atMs)
      return known
    }
    // Nobody has looked at one that had nothing open.
    const fresh = { seen, person: visitor, version, lookedMs: seen.atMs, isVoid: seen.isVoid }
    if (known) return Object.assign(known, fresh)
    const watched: Watched = { ...fresh, open: new Pile() }
    this.#bySession.set(seen.key, watched)
    return watched
  }

  #bear(bearer: Bearer, person: Person): Borne {
    const { atMs: lookedMs } = bearer
    const known = this.#byToken.get(bearer.key)
    const isLater = known !== undefined && (known.open.size === 0 || lookedMs >= known.lookedMs)
    if (known) return isLater ? Object.assign(known, { bearer, person, lookedMs }) : known
    const borne: Borne = { bearer, open: new Pile(), person, lookedMs, askedMs: lookedMs, asking: undefined }
    this.#byToken.set(bearer.key, borne)
    return borne
  }
}
