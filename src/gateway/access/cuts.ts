/**
 * All that is open: sockets, streams and long requests, each by its app and, where it has one, its session. A ring, or a change of
 * a table, has those looked at that it may concern; a sweep looks at all. A connection whose right has ended is cut.
 */
import type { Clock } from '../../base/clock.ts'
import { type Log, logUnexpected } from '../../base/log.ts'
import { Loop, type Rest } from '../../base/loop.ts'
import type { AppRing } from '../../store/apps/rings.ts'
import type { SessionStore } from '../../store/apps/sessions.ts'
import type { Access } from './access.ts'
import { BearerChecks } from './bearers.ts'
import { awayMs, holdMs, holds, type Seen } from './checks.ts'
import { type CutReason, type Guard, type Guarding, GuardOf } from './guard.ts'
import { type Borne, type Open, OpenIndex, type Opening, type Watched } from './open-index.ts'
import { reasonAgainst } from './reason.ts'
import type { MemberTable, RouteTable } from './tables.ts'
import { type Words, wordMs } from './words.ts'

/** Within `holdMs`, with the time that a sweep takes. */
const sweepMs = 3_500
const againMs = 200

export interface CutsOptions {
  readonly access: Pick<Access, 'permits' | 'current'>
  readonly routes: Pick<RouteTable, 'get' | 'onChange' | 'checkedMs' | 'triedMs' | 'look'>
  readonly members: Pick<MemberTable, 'onChange' | 'checkedMs' | 'triedMs' | 'look'>
  readonly sessions: Pick<SessionStore, 'check'>
  readonly bell: { on(listener: (ring: AppRing) => void): () => void }
  readonly words?: Pick<Words, 'isTooOld'> | undefined
  readonly clock: Clock
  readonly log: Log
  readonly onCut?: (reason: CutReason) => void
  /** Called for each session that has something open, at each sweep. */
  readonly onUse?: (seen: Seen) => void
}

export class Cuts {
  readonly #options: CutsOptions
  readonly #loop: Loop
  readonly #open = new OpenIndex()
  readonly #bearers: BearerChecks<Borne>
  readonly #guarding: Guarding<Open> = {
    mayPass: open => this.#mayPass(open),
    look: open => this.#look(open),
    remove: open => this.#remove(open),
  }
  #due = new Set<Watched>()
  #sweptMs = Number.NEGATIVE_INFINITY
  #failedMs = Number.NEGATIVE_INFINITY
  #waiting: (() => void)[] = []
  #offs: (() => void)[] = []

  constructor(options: CutsOptions) {
    this.#options = options
    this.#bearers = new BearerChecks({
      clock: options.clock,
      log: options.log,
      onPerson: ({ open }) => this.#judge(open.all()),
      onEnded: ({ open }) => this.#cutAll(open.all(), 'ended'),
    })
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.#round(),
      failed: error => {
        logUnexpected(options.log, error, 'open connections could not be looked at')
        return { ms: againMs }
      },
    })
  }

  start(): void {
    const { bell, routes, members } = this.#options
    this.#offs = [
      bell.on(ring => this.#heard(ring)),
      routes.onChange(ids => this.#judge([...ids].flatMap(id => this.#open.ofApp(id)))),
      members.onChange(() => this.#judge(this.#open.all())),
    ]
    this.#loop.start()
  }

  async stop(): Promise<void> {
    for (const off of this.#offs.splice(0)) off()
    await this.#loop.stop()
    this.#answer(this.#waiting.splice(0))
  }

  get size(): number {
    return this.#open.all().length
  }

  /** Adds what was let in by a verdict. It may be cut before this returns. */
  add(opening: Opening): Guard {
    const open = this.#open.add(opening)
    const { watched, borne } = open
    this.#judge(borne ? borne.open.all() : [open])
    const { seen } = opening.admitted ?? {}
    // Revoked between the verdict and this, or nobody would know.
    const isDue = seen && (seen.isVoid || this.#nowMs - seen.atMs > holdMs)
    if (watched && isDue) this.#lookSoon([watched])
    return new GuardOf(open, this.#guarding)
  }

  #remove(open: Open): void {
    this.#open.remove(open)
    if (open.watched?.open.size === 0) this.#due.delete(open.watched)
  }

  #cut(open: Open, reason: CutReason): void {
    if (!open.isOpen) return
    this.#remove(open)
    this.#options.onCut?.(reason)
    try {
      open.opening.cut(reason)
    } catch (error) {
      this.#options.log.error({ err: error }, 'an open connection could not be cut')
    }
  }

  /** By what is known here. */
  #judge(all: readonly Open[]): void {
    for (const open of all) {
      const reason = reasonAgainst(open, this.#options)
      if (reason) this.#cut(open, reason)
    }
  }

  #cutAll(all: readonly Open[], reason: CutReason): void {
    for (const open of all) this.#cut(open, reason)
  }

  /** As Redis says. */
  async #ask(all: readonly Watched[], startMs: number): Promise<void> {
    const { sessions, access, onUse, words } = this.#options
    const asked = all.map(({ seen }) => seen)
    const findings = await sessions.check(asked.map(({ claim }) => claim))
    for (const [i, watched] of all.entries()) {
      // It had nothing open meanwhile, and came anew by a later answer.
      if (watched.seen !== asked[i]) continue
      const { is, version } = findings[i]!
      const { loginHash } = watched.seen.claim
      // The record of the login has changed, such as its groups.
      const person =
        is === 'in' && version !== watched.version ? await access.current(loginHash, version) : watched.person
      if (is !== 'in' || !person) {
        this.#cutAll(watched.open.all(), 'ended')
        continue
      }
      // If it became due since then, it needs a later answer.
      const isVoid = watched.isVoid && this.#due.has(watched)
      Object.assign(watched, { person, version, lookedMs: startMs, isVoid })
      onUse?.(watched.seen)
      if (words?.isTooOld(loginHash)) this.#cutAll(watched.open.all(), 'unavailable')
      this.#judge(watched.open.all())
    }
  }

  async #round(): Promise<Rest> {
    const served = this.#waiting.splice(0)
    const startMs = this.#nowMs
    const isSweep = served.length > 0 || startMs - this.#sweptMs >= sweepMs
    const due = this.#due
    this.#due = new Set()
    if (isSweep) this.#bearers.look(this.#open.tokens())
    try {
      await this.#ask(isSweep ? this.#open.sessions() : [...due], startMs)
      if (isSweep) {
        this.#sweptMs = startMs
        this.#open.prune()
      }
    } catch (error) {
      this.#failedMs = startMs
      for (const each of due) if (each.open.size > 0) this.#due.add(each)
      throw error
    } finally {
      this.#cutForgotten()
      this.#answer(served)
    }
    return { ms: Math.max(0, this.#sweptMs + sweepMs - this.#nowMs) }
  }

  #cutForgotten(): void {
    const beforeMs = this.#nowMs - awayMs
    const wordBeforeMs = this.#nowMs - wordMs
    const { routes, members } = this.#options
    const areTablesOld = Math.min(routes.checkedMs, members.checkedMs) < beforeMs
    for (const open of this.#open.all()) {
      const { watched, borne } = open
      const isOld = (watched?.lookedMs ?? beforeMs) < beforeMs || (borne?.lookedMs ?? wordBeforeMs) < wordBeforeMs
      if (areTablesOld || isOld) this.#cut(open, 'unavailable')
    }
  }

  /** Asked before each byte. */
  #mayPass({ isOpen, watched, borne }: Open): boolean {
    if (!isOpen) return false
    const { routes, members } = this.#options
    const nowMs = this.#nowMs
    return (
      holds(routes.checkedMs, routes.triedMs, nowMs) &&
      holds(members.checkedMs, members.triedMs, nowMs) &&
      (watched === undefined || (!watched.isVoid && holds(watched.lookedMs, this.#failedMs, nowMs))) &&
      (borne === undefined || this.#bearers.holds(borne))
    )
  }

  async #look({ borne }: Open): Promise<void> {
    const { routes, members } = this.#options
    const own = new Promise<void>(resolve => {
      if (this.#loop.signal.aborted) return resolve()
      this.#waiting.push(resolve)
      this.#loop.wake()
    })
    await Promise.all([own, routes.look(), members.look()])
    await borne?.asking
  }

  #lookSoon(all: Iterable<Watched>): void {
    for (const each of all) this.#due.add(each)
    if (this.#due.size > 0) this.#loop.wake()
  }

  #heard({ what, subject }: AppRing): void {
    if (what === 'missed') {
      this.#lookSoon(this.#open.sessions())
      this.#cutByToken(() => true)
    }
    if (what !== 'sessions' || !subject) return
    const { kind, name } = subject
    const isMeant = ({ loginHash, user, appId }: Seen['claim']) => name === { login: loginHash, user, app: appId }[kind]
    const meant = this.#open.sessions().filter(({ seen }) => isMeant(seen.claim))
    // Redis may fail to say so.
    for (const each of meant) each.isVoid = true
    this.#lookSoon(meant)
    this.#cutByToken((user, appId) => name === { user, app: appId }[kind as 'user' | 'app'])
  }

  /** A visitor with a token has no session that could be looked at. If he still may, the token lets him in again. */
  #cutByToken(isMeant: (user: string, appId: string) => boolean): void {
    for (const open of this.#open.all()) {
      const { person, appId } = open.opening
      if (!open.watched && person && isMeant(person.user, appId)) this.#cut(open, 'ended')
    }
  }

  #answer(waiting: readonly (() => void)[]): void {
    for (const resolve of waiting) resolve()
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}
