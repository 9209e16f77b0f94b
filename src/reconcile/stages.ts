/** Carries out the acts of a turn, stage by stage. Each stage is planned anew by what is seen then. */
import type { Clock } from '../base/clock.ts'
import { unlessAborted } from '../base/deadline.ts'
import { Fenced, NeedsSomeone, RetryLater } from '../base/errors.ts'
import type { TaskLease } from '../leases/leases.ts'
import type { Due } from './due.ts'
import { effectName } from './failure.ts'
import type { Held, Holding } from './held.ts'
import type { TurnLimit } from './limit.ts'
import { type Look, signature } from './look.ts'
import type { Memory } from './memory.ts'
import { effectsOf, forced, gives, restricts, writesNow } from './permitted.ts'
import { isRevocation, refOfAct } from './plan.ts'
import type { Reader } from './reader.ts'
import type { Act, Kind, Lock } from './types.ts'
import type { Writer } from './writer.ts'

/** Rounds in which others change what we are about to change. */
const maxStale = 3
/** In a pause, what restricts is corrected at most this often. */
const restrictMs = 1_000

/** The permitted acts. Without a lease, only revocations or only effects. */
export type Scope = 'all' | 'revocations' | 'effects'

export interface StagesOptions<World> {
  readonly kind: Pick<Kind<World>, 'sources'>
  readonly memory: Memory
  readonly clock: Clock
  readonly writer: Pick<Writer, 'send'>
  readonly reader: Pick<Reader, 'parents'>
  readonly due: Due
  readonly limit: TurnLimit
  readonly look: () => Look | undefined
  readonly holding: Holding
  /** Takes a lock; null when another has it. @throws {RetryLater} when Redis does not answer */
  readonly takeLock: (name: string) => Promise<TaskLease | null>
  readonly ends: () => boolean
  readonly onWrite: (act: string, result: string) => void
  /** Gets the time of each write, in ms. */
  readonly onAnswer: (ms: number) => void
  readonly onDefect: (error: unknown) => void
}

export class Stages<World> {
  readonly #options: StagesOptions<World>
  /** Names of writes that were refused, or not answered. */
  readonly failed = new Set<string>()
  /** The kind of the object to which that happened first. */
  failedKind: string | undefined
  /** Number of accepted writes. */
  writes = 0
  lock: Held | undefined
  #isChecked = false
  #hasReadParents = false
  #stale = 0
  #isForced = false

  constructor(options: StagesOptions<World>) {
    this.#options = options
  }

  async readParents(look: Look): Promise<void> {
    this.#hasReadParents = true
    await this.#options.reader.parents(look)
  }

  /**
   * @param isSilent whether Redis is known to be silent
   * @throws the first failure of a round, and {TurnOver}
   */
  async carryOut(scope: Scope, isSilent: boolean): Promise<void> {
    const { memory, ends, look: lookNow } = this.#options
    const done = new Set<string>()
    while (!ends()) {
      const look = lookNow()
      if (!look) return
      const writes = await this.#permitted(look, scope, isSilent)
      if (writes === 'again') continue
      const isDone = (act: Act) => done.has(signature(act, look.wish))
      const fresh = writes.filter(act => !isDone(act))
      if (fresh.length === 0) {
        // An object that was written and is different again counts as another's change.
        if (look.acts.length === 0 || writes.length > 0) memory.rivals.reached(look.wish)
        return
      }
      for (const act of await this.#send(look, fresh)) done.add(signature(act, look.wish))
    }
  }

  /** @returns the acts that are done */
  async #send(look: Look, acts: readonly Act[]): Promise<readonly Act[]> {
    const { kind, limit, memory } = this.#options
    if (!this.#hasReadParents && acts.some(act => gives(act, kind.sources))) {
      await this.readParents(look)
      return []
    }
    limit.check()
    const sent = await this.#sendAll(this.#isForced ? acts.map(act => forced(act) ?? act) : acts, look.wish)
    const done = acts.filter((_, i) => sent[i] === 'done')
    if (done.length > 0) memory.rivals.answered(look.wish)
    if (sent.includes('stale')) await this.#isStale(look, acts)
    return done
  }

  /** Others write the objects before us. A person who does so with each of our writes keeps no right: in the end it is forced. */
  async #isStale(look: Look, acts: readonly Act[]): Promise<void> {
    this.#stale += 1
    if (this.#stale <= maxStale) return
    if (!this.#isForced && acts.some(act => isRevocation(act) && forced(act))) {
      this.#isForced = true
      return this.readParents(look)
    }
    for (const act of acts) this.failed.add(signature(act, look.wish))
    throw new RetryLater('others change the objects at the same time')
  }

  /** The acts that may be sent now; `again`: more is known than this look shows. Effects come between revocations and all else. */
  async #permitted(look: Look, scope: Scope, isSilent: boolean): Promise<readonly Act[] | 'again'> {
    const { memory, clock } = this.#options
    const writes = writesNow(look, memory, clock.monotonicMs())
    const revocations = writes.filter(isRevocation)
    if (scope === 'revocations' || revocations.length > 0) return scope === 'effects' ? [] : revocations
    if (!(await this.#apply(look, isSilent))) return 'again'
    if (scope === 'effects') return []
    const { lock } = look.verdict
    return lock === undefined || writes.length === 0 ? writes : this.#underLock(lock, look, writes)
  }

  async #underLock(lock: Lock, look: Look, writes: readonly Act[]): Promise<readonly Act[] | 'again'> {
    const { holding, takeLock, due, limit, onDefect } = this.#options
    if (due.names.has(lock.name)) return []
    if (this.lock === undefined) {
      const options = { isPatient: true, signal: limit.signal, onDefect }
      this.lock = await limit.interruptible(() => holding.heldSoon(() => takeLock(lock.name), options))
      limit.check()
      if (this.lock === 'silent') due.names.add(lock.name)
      // Writes of the last holder count.
      return 'again'
    }
    if (typeof this.lock !== 'object') return []
    const check = () => unlessAborted(lock.check(limit.signal), limit.signal)
    const reason = this.#isChecked ? undefined : await limit.interruptible(check)
    this.#isChecked = true
    if (reason === undefined) return writes
    for (const act of writes) this.failed.add(signature(act, look.wish))
    throw new NeedsSomeone(reason)
  }

  /** @returns false if a newer wish has written an effect: our watch is behind */
  async #apply(look: Look, isSilent: boolean): Promise<boolean> {
    const { due, limit } = this.#options
    for (const effect of effectsOf(look)) {
      try {
        await limit.interruptible(() => due.apply(effect, isSilent))
      } catch (error) {
        this.failed.add(effectName(effect))
        if (!(error instanceof Fenced)) throw error
        if (this.#stale > 0) throw new RetryLater('a newer wish is known than the watches show')
        this.#stale += 1
        await this.readParents(look)
        return false
      }
    }
    return true
  }

  /** Sends acts side by side. @throws the first failure, when all have their answers */
  async #sendAll(acts: readonly Act[], wish: string) {
    const { onWrite, memory, clock, limit } = this.#options
    if (acts.some(restricts)) memory.restrictAtMs = clock.monotonicMs() + restrictMs
    const send = () => Promise.allSettled(acts.map(act => this.#sendOne(act)))
    const settled = await (acts.every(isRevocation) ? send() : limit.interruptible(send))
    for (const [i, outcome] of settled.entries()) {
      onWrite(acts[i]!.act, outcome.status === 'fulfilled' ? outcome.value : 'failed')
      if (outcome.status === 'rejected') this.failed.add(signature(acts[i]!, wish))
      else if (outcome.value === 'done') this.writes += 1
    }
    return settled.map((outcome, i) => {
      if (outcome.status === 'fulfilled') return outcome.value
      this.failedKind = refOfAct(acts[i]!).kind
      throw outcome.reason
    })
  }

  async #sendOne(act: Act) {
    const { writer, clock, onAnswer } = this.#options
    const begunMs = clock.monotonicMs()
    try {
      return await writer.send(act)
    } finally {
      onAnswer(clock.monotonicMs() - begunMs)
    }
  }
}
