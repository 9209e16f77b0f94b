/**
 * One turn of one key: look; if something is to be done, take the lease, act stage by stage, and report. Each stage is
 * planned anew by what is seen then. The lease spares work: what is sent is guarded by UID and version alone.
 *
 * | Redis | another has the lease | what is done |
 * |---|---|---|
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
import { type TurnLimit, TurnOver } from './limit.ts'
import { type Look, lookAt, sightOf } from './look.ts'
import { type Memory, remember } from './memory.ts'
import { effectsOf, isHeld, writesNow } from './permitted.ts'
import { isRevocation, nextWrites } from './plan.ts'
import { losesParent, Reader } from './reader.ts'
import { Reporter } from './reporter.ts'
import { Stages } from './stages.ts'
import type { Act, Kind } from './types.ts'
import type { Writer } from './writer.ts'

/**
 * - `idle`: nothing was to be done;
 * - `left`: the key is none of ours any more;
 * - `refused`: another replica has the lease, or the lock;
 * - `over`: the time was over, or the process ends;
 * - `cut`: a revocation has come, which has a turn of its own;
 * - `due`: done but for what waits for Redis;
 * - `held`: done but for what failed a moment ago;
 * - `failed`: a write was refused, or not answered.
 */
export type TurnResult = 'idle' | 'done' | 'left' | 'refused' | 'over' | 'cut' | 'due' | 'held' | 'failed'

export interface TurnEnd {
  readonly result: TurnResult
  /** Number of writes that were accepted. */
  readonly writes: number
  /** When to look again, by the clock of the epoch. */
  readonly dueMs?: number | undefined
  /** More must be done already. */
  readonly isBehind?: boolean
  readonly error?: unknown
  /** The words of the error, in at most 1,000 characters; undefined for a defect. */
  readonly words?: string | undefined
}

export interface TurnOptions<World> {
  readonly kind: Kind<World>
  readonly key: string
  readonly memory: Memory
  readonly clock: Clock
  readonly writer: Writer
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
/** The API server, or a webhook, may not answer for a moment: that is told when it has failed so often in a row. */
const toldFailures = 3

export class Turn<World> {
  readonly #options: TurnOptions<World>
  readonly #due: Due
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
    const { kind, key, memory, clock, writer, limit, ends, holding, takeLock, onDefect, onWrite, onAnswer } = options
    this.#options = options
    this.#due = new Due(memory, limit, clock)
    this.#reader = new Reader({ parent: kind.parent, memory, writer, clock, limit })
    const look = () => this.#look()
    const common = { kind, memory, clock, writer, look, onWrite }
    const outside = { holding, takeLock, onDefect, onAnswer, ends }
    this.#stages = new Stages({ ...common, ...outside, reader: this.#reader, due: this.#due, limit })
    this.#reporter = new Reporter({ ...common, key, due: this.#due.names })
  }

  /** Never throws, but for a defect of the kind. */
  async take(): Promise<TurnEnd> {
    const { kind, memory, clock, holding, limit } = this.#options
    const first = this.#look()
    const look = first && (await this.#reader.waiting(first)) ? this.#look() : first
    if (!look) return this.#end('left')
    const isUndone = this.#note(look)
    if (!this.#hasWork(look)) {
      memory.refusals = 0
      return this.#over('idle')
    }
    const revokes = this.#writesNow(look).some(isRevocation)
    this.#lease = await this.#hold(revokes)
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
      return await this.#act(onlyRevocations)
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
    try {
      await this.#stages.carryOut(onlyRevocations, this.#lease === 'silent')
      if (onlyRevocations || this.#stages.lock === 'refused') return this.#end('refused')
      if (this.#options.ends()) return this.#end('over')
      await this.#report()
      return this.#over('done')
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
    const { kind, key, clock, memory } = this.#options
    const nowMs = clock.wallMs()
    const look = lookAt(kind, key, nowMs)
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

  #hasWork(look: Look): boolean {
    if (effectsOf(look).some(effect => this.#due.has(effect)) || this.#writesNow(look).length > 0) return true
    return this.#reporter.isDue(look)
  }

  #writesNow(look: Look): readonly Act[] {
    const { memory, clock } = this.#options
    return writesNow(look, memory, clock.monotonicMs())
  }

  /** The end of a turn that has done what it could. */
  #over(result: 'idle' | 'done'): TurnEnd {
    const { memory, clock } = this.#options
    if (this.#isHeld || memory.failure?.holds(statusName, clock.monotonicMs())) return this.#end('held')
    return this.#end(this.#due.names.size > 0 ? 'due' : result)
  }

  #end(result: TurnResult): TurnEnd {
    this.#options.memory.due = this.#due.names
    return { result, writes: this.#stages.writes + this.#reports, dueMs: this.#dueMs, isBehind: this.#isBehind }
  }
}

const isExpected = (error: unknown): error is Error =>
  error instanceof KubeError || error instanceof RetryLater || error instanceof NeedsSomeone
