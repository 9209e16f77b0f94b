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
import { Fenced, NeedsSomeone, RetryLater } from '../base/errors.ts'
import { briefly, KubeError } from '../kube/client.ts'
import type { TaskLease } from '../leases/leases.ts'
import { Due } from './due.ts'
import { effectName, Failure, statusName } from './failure.ts'
import { type Held, heldSoon } from './held.ts'
import { type TurnLimit, TurnOver } from './limit.ts'
import { type Look, lookAt, sightOf, signature } from './look.ts'
import { type Memory, remember } from './memory.ts'
import { gives, isHeld, writesNow } from './permitted.ts'
import { isRevocation, nextWrites, refOfAct } from './plan.ts'
import { losesParent, Reader } from './reader.ts'
import { Reporter } from './reporter.ts'
import type { Act, Kind } from './types.ts'
import type { Writer } from './writer.ts'

/**
 * - `idle`: nothing was to be done;
 * - `left`: the key is none of ours any more;
 * - `refused`: another replica has the lease, or the lock;
 * - `over`: the time was over, or the process ends;
 * - `due`: done but for what waits for Redis;
 * - `held`: done but for what failed a moment ago;
 * - `failed`: a write was refused, or not answered.
 */
export type TurnResult = 'idle' | 'done' | 'left' | 'refused' | 'over' | 'due' | 'held' | 'failed'

export interface TurnEnd {
  readonly result: TurnResult
  /** Number of writes that were accepted. */
  readonly writes: number
  /** When to look again, by the clock of the epoch. */
  readonly dueMs?: number | undefined
  /** More must be done already. */
  readonly isBehind?: boolean
  readonly error?: unknown
  /** What the error says, in at most 1,000 characters; undefined for a defect. */
  readonly words?: string | undefined
}

export interface TurnOptions<World> {
  readonly kind: Kind<World>
  readonly key: string
  readonly memory: Memory
  readonly clock: Clock
  readonly writer: Writer
  readonly limit: TurnLimit
  /** Takes the lease of the key, or a lock; null when another has it. @throws {RetryLater} when Redis does not answer */
  readonly acquire: (lock?: string) => Promise<TaskLease | null>
  /** Whether the process ends: nothing more is begun. */
  readonly ends: () => boolean
  readonly onWrite: (act: string, result: string) => void
}

/** Replicas without leases begin within this time. */
const spreadMs = 200
/** Rounds in which others change what we are about to change. */
const maxStale = 3
/** The API server, or a webhook, may not answer for a moment: that is told when it has failed so often in a row. */
const toldFailures = 3

export class Turn<World> {
  readonly #options: TurnOptions<World>
  readonly #due: Due
  readonly #reader: Reader
  readonly #reporter: Reporter<World>
  /** Names of what was refused, or not answered. */
  readonly #failed = new Set<string>()
  /** The kind of the object to which that happened first. */
  #failedKind: string | undefined
  #writes = 0
  #dueMs: number | undefined
  #isBehind = false
  #hasReadParents = false
  /** Whether the last look saw something that failed a moment ago. */
  #isHeld = false
  #lease: Held | undefined
  #lock: Held | undefined

  constructor(options: TurnOptions<World>) {
    const { kind, key, memory, clock, writer, limit, onWrite } = options
    this.#options = options
    this.#due = new Due(memory, limit, clock)
    this.#reader = new Reader({ parent: kind.parent, memory, writer, clock, limit })
    const look = () => this.#look()
    this.#reporter = new Reporter({ kind, key, memory, clock, writer, look, due: this.#due.names, onWrite })
  }

  /** Never throws, but for a defect of the kind. */
  async take(): Promise<TurnEnd> {
    const { kind, memory, clock, acquire } = this.#options
    const first = this.#look()
    const look = first && (await this.#reader.waiting(first)) ? this.#look() : first
    if (!look) return this.#end('left')
    const isUndone = this.#note(look)
    if (!this.#hasWork(look)) {
      memory.refusals = 0
      return this.#over('idle')
    }
    this.#lease = await heldSoon(acquire(), clock)
    const revokes = this.#writesNow(look).some(isRevocation)
    const onlyRevocations = this.#lease === 'refused'
    if (onlyRevocations && (memory.refusals === 0 || !revokes)) {
      memory.refusals += 1
      return this.#end('refused')
    }
    memory.refusals = 0
    // Replicas without leases would else do the same at the same time.
    if (this.#lease === 'silent' && !revokes) await clock.sleep(Math.random() * spreadMs)
    try {
      if (isUndone || losesParent(look, kind.parent)) await this.#readParents(look)
      return await this.#act(onlyRevocations)
    } finally {
      for (const held of [this.#lock, this.#lease]) if (typeof held === 'object') await held.release()
    }
  }

  async #readParents(look: Look): Promise<void> {
    this.#hasReadParents = true
    await this.#reader.parents(look)
  }

  async #act(onlyRevocations: boolean): Promise<TurnEnd> {
    try {
      await this.#write(onlyRevocations)
      if (onlyRevocations || this.#lock === 'refused') return this.#end('refused')
      if (this.#options.ends()) return this.#end('over')
      await this.#report()
      return this.#over('done')
    } catch (error) {
      if (error instanceof TurnOver || this.#options.ends()) return this.#end('over')
      return this.#failure(error)
    }
  }

  async #failure(error: unknown): Promise<TurnEnd> {
    const { memory, clock } = this.#options
    const words = isExpected(error) ? briefly(error, this.#failedKind) : undefined
    const isTold = !(error instanceof RetryLater) || memory.failures + 1 >= toldFailures
    const told = isTold ? (words ?? 'an internal error') : undefined
    memory.failure = new Failure({ names: this.#failed, words: told, nowMs: clock.monotonicMs() })
    if (isTold) await this.#report().catch(() => {})
    return { ...this.#end('failed'), error, words }
  }

  async #report(): Promise<void> {
    try {
      const written = await this.#reporter.report()
      if (written === 'behind') this.#isBehind = true
      else this.#writes += written
    } catch (error) {
      this.#failed.add(statusName)
      throw error
    }
  }

  async #write(onlyRevocations: boolean): Promise<void> {
    const { limit, ends, memory } = this.#options
    const done = new Set<string>()
    for (let stale = 0; !ends(); ) {
      const look = this.#look()
      if (!look) return
      const writes = await this.#permitted(look, onlyRevocations)
      if (writes === 'fenced') {
        if (stale > 0) throw new RetryLater('a newer wish is known than the watches show')
        stale += 1
        await this.#readParents(look)
        continue
      }
      const isDone = (act: Act) => done.has(signature(act, look.wish))
      const fresh = writes.filter(act => !isDone(act))
      if (fresh.length === 0) {
        // What was written and is different again counts as another's change.
        if (look.acts.every(isDone)) memory.rivals.reached(look.wish)
        return
      }
      if (!this.#hasReadParents && fresh.some(act => gives(look, act))) {
        await this.#readParents(look)
        continue
      }
      limit.check()
      const sent = await this.#sendAll(fresh, look.wish)
      for (const [i, outcome] of sent.entries()) if (outcome === 'done') done.add(signature(fresh[i]!, look.wish))
      if (sent.includes('done')) memory.rivals.answered(look.wish)
      if (sent.includes('stale')) stale += 1
      if (stale > maxStale) {
        for (const act of fresh) this.#failed.add(signature(act, look.wish))
        throw new RetryLater('others change the objects at the same time')
      }
    }
  }

  /** What may be sent now. Effects come between revocations and all else. `fenced`: another replica knows a newer wish. */
  async #permitted(look: Look, onlyRevocations: boolean): Promise<readonly Act[] | 'fenced'> {
    const writes = this.#writesNow(look)
    if (onlyRevocations || writes.some(isRevocation)) return writes.filter(isRevocation)
    const { lock } = look.verdict
    if (!(await this.#apply(look))) return 'fenced'
    if (lock === undefined || writes.length === 0) return writes
    if (this.#due.names.has(lock)) return []
    const { acquire, clock } = this.#options
    this.#lock ??= await heldSoon(acquire(lock), clock)
    if (this.#lock === 'silent') this.#due.names.add(lock)
    return typeof this.#lock === 'object' ? writes : []
  }

  /** @returns false if a newer wish has written an effect: our watch is behind */
  async #apply({ verdict: { effects = [] } }: Look): Promise<boolean> {
    for (const effect of effects) {
      try {
        await this.#due.apply(effect, this.#lease === 'silent')
      } catch (error) {
        this.#failed.add(effectName(effect))
        if (error instanceof Fenced) return false
        throw error
      }
    }
    return true
  }

  /** Sends acts side by side. @throws the first failure, when all have their answers */
  async #sendAll(acts: readonly Act[], wish: string) {
    const { writer, onWrite } = this.#options
    const settled = await Promise.allSettled(acts.map(act => writer.send(act)))
    for (const [i, outcome] of settled.entries()) {
      onWrite(acts[i]!.act, outcome.status === 'fulfilled' ? outcome.value : 'failed')
      if (outcome.status === 'rejected') this.#failed.add(signature(acts[i]!, wish))
      else if (outcome.value === 'done') this.#writes += 1
    }
    return settled.map((outcome, i) => {
      if (outcome.status === 'fulfilled') return outcome.value
      this.#failedKind = refOfAct(acts[i]!).kind
      throw outcome.reason
    })
  }

  #look(): Look | undefined {
    const { kind, key, clock, memory } = this.#options
    const nowMs = clock.wallMs()
    const look = lookAt(kind, key, nowMs)
    const dueMs = look?.verdict.dueMs
    // What was due is seen by this look.
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
    if (look.verdict.effects?.some(effect => this.#due.has(effect)) || this.#writesNow(look).length > 0) return true
    return this.#reporter.isDue(look)
  }

  #writesNow(look: Look): readonly Act[] {
    const { memory, clock } = this.#options
    return writesNow(look, memory, clock.monotonicMs())
  }

  /** The end of a turn that has done what it could. */
  #over(result: 'idle' | 'done'): TurnEnd {
    if (this.#isHeld) return this.#end('held')
    return this.#end(this.#due.names.size > 0 ? 'due' : result)
  }

  #end(result: TurnResult): TurnEnd {
    this.#options.memory.due = this.#due.names
    return { result, writes: this.#writes, dueMs: this.#dueMs, isBehind: this.#isBehind }
  }
}

const isExpected = (error: unknown): error is Error =>
  error instanceof KubeError || error instanceof RetryLater || error instanceof NeedsSomeone
