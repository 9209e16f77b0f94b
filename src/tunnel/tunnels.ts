/**
 * Who may reach into a running container, and for how long: checked at opening, at each change of the container and each minute.
 * Nothing passes through the keeper of its machine, so any replica serves anybody.
 */
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import { ApiError, unavailable } from '../base/errors.ts'
import type { ContainerReach } from '../containers/service.ts'
import type { TunnelTarget } from '../dispatch/tunnel.ts'
import { Bound } from '../gateway/server/bounds.ts'
import { dial, TunnelFailed } from './dial.ts'
import { shellOff, tooManyTunnels } from './problems.ts'
import type { Sight } from './sight.ts'
import type { Asker, EndReason, Visits } from './visits.ts'
import { type Watch, type Watcher, Watches, type WatchesParts } from './watches.ts'

export interface TunnelLimits {
  readonly perUser: number
  readonly perReplica: number
}

export interface TunnelsParts extends WatchesParts {
  /** Of one run, by all tokens of the installation. */
  readonly keysOf: (uuid: string, run: number) => readonly string[]
  readonly access: { readonly Admin: boolean; readonly User: boolean }
  readonly limits: TunnelLimits
  readonly visits: Visits
  readonly sight: Sight
  readonly clock: Clock
}

/** What somebody wants to reach. */
export interface Wish {
  readonly uuid: string
  readonly target: TunnelTarget
  readonly asker: Asker
  /** Whether the asker may still do so. Does not reject: while that is not known, he may. */
  readonly mayStay: () => Promise<boolean>
}

const checkMs = 60_000
const dialMs = 10_000

export class Tunnels {
  readonly #parts: TunnelsParts
  readonly #ofUsers: Bound
  readonly #all: Bound
  readonly #open = new Set<Passage>()
  readonly #watches: Watches
  #isDraining = false

  constructor(parts: TunnelsParts) {
    this.#parts = parts
    this.#watches = new Watches(parts)
    this.#ofUsers = new Bound(parts.limits.perUser)
    this.#all = new Bound(parts.limits.perReplica)
  }

  /** Requests and streams that are open now. */
  get open(): number {
    return this.#open.size
  }

  /**
   * Admits one request or stream, until `leave`.
   * @throws {ApiError} 403 where shells are off, 404, 410 when it has ended, 429, 503 while it does not run
   */
  async enter(wish: Wish): Promise<Passage> {
    const { visits, sight } = this.#parts
    try {
      const passage = await this.#enter(wish)
      sight.opened(kindOf(wish.target))
      return passage
    } catch (error) {
      sight.refused(kindOf(wish.target))
      if (error instanceof ApiError) visits.refused(wish, error)
      throw error
    }
  }

  async #enter(wish: Wish): Promise<Passage> {
    const { access } = this.#parts
    const { audience, caller } = wish.asker
    if (!(audience === 'admin' ? access.Admin : access.User)) throw shellOff(audience)
    if (this.#isDraining) throw unavailable('this replica ends: another one has tunnels')
    const leaveUser = this.#ofUsers.take(caller.username)
    if (!leaveUser) throw tooManyTunnels()
    const leaveAll = this.#all.take('')
    if (!leaveAll) {
      leaveUser()
      throw unavailable('this replica has too many tunnels')
    }
    const passage = new Passage(wish, { ...this.#parts, watches: this.#watches }, () => {
      leaveUser()
      leaveAll()
      this.#open.delete(passage)
    })
    this.#open.add(passage)
    try {
      await passage.begin()
    } catch (error) {
      passage.leave('refused')
      throw error
    }
    // It may have begun to end meanwhile.
    if (this.#isDraining) passage.cut('drained')
    return passage
  }

  /** Admits nothing more. */
  beginDrain(): void {
    this.#isDraining = true
  }

  /** Cuts what is left. */
  drain(): void {
    this.beginDrain()
    for (const passage of [...this.#open]) passage.cut('drained')
    this.#parts.visits.close()
  }
}

type PassageParts = Omit<TunnelsParts, 'access' | 'limits' | 'onMore'> & { readonly watches: Watches }

/** One request, or one stream, on its way. */
export class Passage implements Watcher {
  readonly #wish: Wish
  readonly #parts: PassageParts
  readonly #onLeft: () => void
  readonly #off: (() => void)[] = []
  #reach: ContainerReach | undefined
  #sever: ((reason: EndReason) => void) | undefined
  #wasCut: EndReason | undefined
  #hasLeft = false
  #leaveVisit: (reason: EndReason) => void = () => {}
  /** Why the container was not reached. */
  failure: TunnelFailed | undefined

  constructor(wish: Wish, parts: PassageParts, onLeft: () => void) {
    this.#wish = wish
    this.#parts = parts
    this.#onLeft = onLeft
  }

  get asker(): Asker {
    return this.#wish.asker
  }

  get run(): number | undefined {
    return this.#reach?.run
  }

  over(): void {
    this.cut('ended')
  }

  /** By which connections to this port of this run are kept. */
  get host(): string {
    return `${this.#wish.uuid}.${this.#reach!.run}`
  }

  /** @throws {ApiError} */
  async begin(): Promise<void> {
    const { containers, watches, visits } = this.#parts
    const { uuid, asker } = this.#wish
    const { watch, leave } = watches.enter(uuid, this)
    this.#off.push(leave)
    const { changes } = watch
    this.#reach = await containers.reach(uuid, asker)
    this.#leaveVisit = visits.enter(this.#wish)
    this.#checkLater(watch)
    // It may have ended while it was read.
    if (watch.changes !== changes) void watch.look()
  }

  /** A connection to what was asked for. @throws {TunnelFailed} */
  async connect(): Promise<TLSSocket> {
    const { keysOf, clock, sight } = this.#parts
    const { uuid, target } = this.#wish
    const { run, address, pin } = this.#reach!
    try {
      return await dial({ address, pin, keys: keysOf(uuid, run) }, target, { clock, limitMs: dialMs })
    } catch (error) {
      if (error instanceof TunnelFailed) {
        this.failure = error
        sight.failed(error.why, { uuid, address })
      }
      throw error
    }
  }

  /** @param sever ends it, once nobody may stay */
  onCut(sever: (reason: EndReason) => void): void {
    this.#sever = sever
    if (this.#wasCut) sever(this.#wasCut)
  }

  cut(reason: EndReason): void {
    if (this.#wasCut || this.#hasLeft) return
    this.#wasCut = reason
    this.#sever?.(reason)
  }

  leave(reason: EndReason = 'left'): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    for (const off of this.#off) off()
    this.#leaveVisit(this.#wasCut ?? reason)
    this.#onLeft()
  }

  #checkLater(watch: Watch): void {
    const cancel = this.#parts.clock.after(checkMs, () => {
      this.#off.splice(this.#off.indexOf(cancel), 1)
      void this.#check(watch)
    })
    this.#off.push(cancel)
  }

  async #check(watch: Watch): Promise<void> {
    if (!(await this.#wish.mayStay())) return this.cut('revoked')
    if (this.#hasLeft || this.#wasCut) return
    void watch.look()
    this.#checkLater(watch)
  }
}

const kindOf = (target: TunnelTarget) => (target === 'ssh' ? 'shell' : 'port')
