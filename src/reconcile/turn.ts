/**
 * One turn of one key: look; if something is to be done, take the lease, act stage by stage, and report. Each stage is
 * planned anew by what is seen then. The lease spares work: what is sent is guarded by UID and version alone. Where only effects
 * are due it is not taken: that would cost more than it spares, since the script that writes the same again changes nothing.
 *
 * | Redis | another has the lease | what is done |
 * |---|---|---|
 * | answers | not asked | effects, if nothing else is due |
 * | answers | no | everything |
 * | answers | yes | nothing; at the second look only revocations |
 * | silent | unknown | everything but effects, and what needs a lock |
 */
import type { Clock } from '../base/clock.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { briefly, KubeError } from '../kube/client.ts'
import type { TaskLease } from '../leases/leases.ts'
import { Due } from './due.ts'
import { Failure, statusName } from './failure.ts'
import type { Held, Holding } from './held.ts'
import { LastLook, type TurnWriter } from './last-look.ts'
import { type TurnLimit, TurnOver } from './limit.ts'
import { type Look, sightOf } from './look.ts'
import { isRecent, type Memory, remember } from './memory.ts'
import { effectsOf, isHeld, writesNow } from './permitted.ts'
import { isRevocation, nextWrites } from './plan.ts'
import { losesParent, Reader } from './reader.ts'
import { Reporter } from './reporter.ts'
import { Stages } from './stages.ts'
import type { TurnEnd, TurnResult } from './turn-end.ts'
import type { Act, Kind } from './types.ts'

export interface TurnOptions<World> {
  readonly kind: Kind<World>
  readonly key: string
  /** Every replica was asked for the look, and it is not urgent. */
  readonly mayLeave: boolean
  readonly memory: Memory
  readonly clock: Clock
  readonly writer: TurnWriter
  readonly limit: TurnLimit
  readonly holding: Holding
  /** Takes the lease of the key; null when another has it. @throws {RetryLater} when Redis does not answer */
  readonly acquire: () => Promise<TaskLease | null>
  /** Takes a lock, as `acquire`. */
  readonly takeLock: (name: string) => Promise<TaskLease | null>
  /** Whether the process ends: nothing more is begun. */
  readonly ends: () => boolean
  readonly onWrite: (act: string, result: string) => void
  /** Gets the time of each write, in ms. */
  readonly onAnswer: (ms: number) => void
  /** Gets an error of a lease that is not Redis' silence. */
  readonly onDefect: (error: unknown) => void
}

/** Replicas without leases begin within this time. */
const spreadMs = 200
/** The API server, or a webhook, may be silent for a moment: the status says so after so many failures in a row. */
const toldFailures = 3

export class Turn<World> {
  readonly #options: TurnOptions<World>
  readonly #due: Due
  readonly #last: LastLook<World>
  readonly #reader: Reader
  readonly #reporter: Reporter<World>
  readonly #stages: Stages<World>
  #reports = 0
  #dueMs: number | undefined
  #isBehind = false
  /** Whether the last look saw something that failed a moment ago. */
  #isHeld = false
  #lease: Held | undefined

  constructor(options: TurnOptions<World>) {
    const { kind, key, memory, clock, limit, ends, holding, takeLock, onDefect, onWrite, onAnswer } = options
    this.#options = options
    this.#last = new LastLook(kind, key, memory)
    const writer = this.#last.noticing(options.writer)
    this.#due = new Due(memory, limit, clock)
    this.#reader = new Reader({ parent: kind.parent, memory, writer, clock, limit })
    const look = () => this.#look()
    const common = { kind, memory, clock, writer, look, onWrite }
    const outside = { holding, takeLock, onDefect, onAnswer, ends }
    this.#stages = new Stages({ ...common, ...outside, reader: this.#reader, due: this.#due, limit })
    const forget = () => this.#last.forget()
    this.#reporter = new Reporter({ ...common, key, due: this.#due.names, forget })
  }

  /** Never throws, but for a defect of the kind. */
  async take(): Promise<TurnEnd> {
    const first = this.#look()
    const look = first && (await this.#reader.waiting(first)) ? this.#look() : first
    if (!look) return this.#end('left')
    const isUndone = this.#note(look)
    const needsLease = this.#needsLease(look)
    if (!needsLease) this.#options.memory.refusals = 0
    if (!needsLease && !effectsOf(look).some(effect => this.#due.has(effect))) return this.#over('idle')
    if (this.#isLeft(look)) return this.#leave()
    if (needsLease || this.#options.holding.isSilent) return this.#takeLease(look, isUndone)
    const end = await this.#ended(() => this.#applyEffects())
    if (end) return end
    const after = this.#look() ?? look
    return this.#takeLease(after, this.#note(after))
  }

  /** @param isUndone whether others have changed what was as wished */
  async #takeLease(look: Look, isUndone: boolean): Promise<TurnEnd> {
    const { kind, memory, clock, holding, limit } = this.#options
    const revokes = this.#writesNow(look).some(isRevocation)
    this.#lease = await this.#hold(revokes)
    if (this.#lease === 'refused') memory.holder = 'other'
    // The versions in it may be old by now.
    if (revokes) this.#last.forget()
    if (limit.isInterrupted) {
      await holding.giveBack(this.#lease)
      return this.#end('cut')
    }
    const onlyRevocations = this.#lease === 'refused'
    if (onlyRevocations && (memory.refusals === 0 || !revokes)) {
      memory.refusals += 1
      return this.#end('refused')
    }
    memory.refusals = 0
    // Replicas without leases would else do the same at the same time.
    if (this.#lease === 'silent' && !revokes) await clock.sleep(Math.random() * spreadMs)
    try {
      if (isUndone || losesParent(look, kind.parent)) await this.#stages.readParents(look)
      return await this.#owning(() => this.#ended(() => this.#act(onlyRevocations)))
    } finally {
      await Promise.all([this.#stages.lock, this.#lease].map(held => holding.giveBack(held)))
    }
  }

  /** Waits for the lease, unless a revocation comes meanwhile. */
  async #hold(revokes: boolean): Promise<Held> {
    const { holding, acquire, limit, onDefect } = this.#options
    const hold = () => holding.heldSoon(acquire, { isPatient: !revokes, signal: limit.signal, onDefect })
    return revokes ? hold() : limit.interruptible(hold)
  }

  async #act(onlyRevocations: boolean): Promise<TurnEnd> {
    await this.#stages.carryOut(onlyRevocations ? 'revocations' : 'all', this.#lease === 'silent')
    if (onlyRevocations || this.#stages.lock === 'refused') return this.#end('refused')
    if (this.#options.ends()) return this.#end('over')
    await this.#report()
    return this.#over('done')
  }

  /** The holder is the last that wrote under the lease. While Redis is silent, it is nobody. */
  async #owning(act: () => Promise<TurnEnd>): Promise<TurnEnd> {
    const { memory } = this.#options
    const former = memory.holder
    if (typeof this.#lease === 'object') memory.holder = 'self'
    const end = await act()
    if (this.#lease === 'silent') memory.holder = end.writes > 0 ? 'unknown' : former
    else if (end.writes > 0) memory.holder = 'self'
    else if (former !== 'self') memory.holder = end.result === 'done' ? 'other' : former
    return end
  }

  /** @returns undefined if more is to be done now */
  async #applyEffects(): Promise<TurnEnd | undefined> {
    const waited = this.#due.names.size
    await this.#stages.carryOut('effects', false)
    if (this.#due.names.size > waited) this.#options.holding.suspect()
    if (this.#options.ends()) return this.#end('over')
    const look = this.#look()
    return look && this.#needsLease(look) ? undefined : this.#over('done')
  }

  /**
   * Whether effects and status are left to another replica for now: the one that has made all objects, as far as is seen, writes
   * them too. This replica corrects its own write of a moment ago at once: its watch may have been behind.
   */
  #isLeft(look: Look): boolean {
    const { memory, clock, mayLeave } = this.#options
    if (!mayLeave || memory.holder === 'self' || isRecent(memory, clock)) return false
    return look.acts.length === 0 && look.verdict.standing.length > 0 && look.verdict.onlyRevocations === undefined
  }

  #leave(): TurnEnd {
    this.#options.memory.holder = 'other'
    return this.#end('deferred')
  }

  async #ended<T extends TurnEnd | undefined>(work: () => Promise<T>): Promise<T | TurnEnd> {
    try {
      return await work()
    } catch (error) {
      if (this.#options.limit.isInterrupted) return this.#end('cut')
      if (error instanceof TurnOver || this.#options.ends()) return this.#end('over')
      return this.#failure(error)
    }
  }

  async #failure(error: unknown): Promise<TurnEnd> {
    const { memory, clock } = this.#options
    const words = isExpected(error) ? briefly(error, this.#stages.failedKind) : undefined
    const isTold = !(error instanceof RetryLater) || memory.failures + 1 >= toldFailures
    const told = isTold ? (words ?? 'an internal error') : undefined
    memory.failure = new Failure({ names: this.#stages.failed, words: told, nowMs: clock.monotonicMs() })
    if (isTold) await this.#report().catch(() => {})
    return { ...this.#end('failed'), error, words }
  }

  async #report(): Promise<void> {
    try {
      const written = await this.#options.limit.interruptible(() => this.#reporter.report())
      if (written === 'behind') this.#isBehind = true
      else this.#reports += written
    } catch (error) {
      this.#stages.failed.add(statusName)
      throw error
    }
  }

  #look(): Look | undefined {
    const { clock, memory } = this.#options
    const nowMs = clock.wallMs()
    const look = this.#last.at(nowMs)
    const dueMs = look?.verdict.dueMs
    // This look sees all that was due.
    this.#dueMs = dueMs !== undefined && dueMs > nowMs ? dueMs : undefined
    const parent = look?.verdict.parent
    if (parent !== undefined && parent !== 'shared' && remember(memory, parent.uid)) this.#due.names.clear()
    this.#isHeld = look !== undefined && isHeld(look, memory, clock.monotonicMs())
    return look
  }

  /** @returns whether others have changed what was as wished */
  #note({ acts, wish }: Look): boolean {
    const { memory, clock } = this.#options
    const writes = nextWrites(acts)
    if (writes.length > 0) return memory.rivals.found(wish, writes.map(sightOf).join(), clock.monotonicMs())
    if (acts.length === 0) memory.rivals.reached(wish)
    return false
  }

  #needsLease(look: Look): boolean {
    return this.#writesNow(look).length > 0 || this.#reporter.isDue(look)
  }

  #writesNow(look: Look): readonly Act[] {
    const { memory, clock } = this.#options
    return writesNow(look, memory, clock.monotonicMs())
  }

  get #writes(): number {
    return this.#stages.writes + this.#reports
  }

  /** The end of a turn that has done what it could. */
  #over(result: 'idle' | 'done'): TurnEnd {
    const { memory, clock } = this.#options
    if (this.#isHeld || memory.failure?.holds(statusName, clock.monotonicMs())) return this.#end('held')
    return this.#end(this.#due.names.size > 0 ? 'due' : result)
  }

  #end(result: TurnResult): TurnEnd {
    this.#options.memory.due = this.#due.names
    return { result, writes: this.#writes, dueMs: this.#dueMs, isBehind: this.#isBehind }
  }
}

const isExpected = (error: unknown): error is Error =>
  error instanceof KubeError || error instanceof RetryLater || error instanceof NeedsSomeone
