/**
 * Carries out the wishes of custom resources of one kind. Events of watches only name keys; a turn decides by the state that
 * the watches show then. Every replica runs this for every key.
 */
import { unlessAborted } from '../base/deadline.ts'
import { placeOf } from '../kube/cache.ts'
import { Breath } from './breath.ts'
import { isParent } from './facts.ts'
import { TurnLimit } from './limit.ts'
import { isRecent, type Memory, newMemory } from './memory.ts'
import { leftMs, nextLook } from './next.ts'
import type { ReconcilerOptions } from './options.ts'
import { mustRevoke } from './permitted.ts'
import { KeyQueue, type Taken } from './queue.ts'
import { keysIn } from './replay.ts'
import { Resync } from './resync.ts'
import { Turn } from './turn.ts'
import type { TurnEnd } from './turn-end.ts'
import { TurnLog } from './turn-log.ts'
import { Writer } from './writer.ts'

/** Part of the TTL of a lease that a turn may take. */
const turnShare = 0.66
const gatherMs = 20
/** A few seconds, where hundreds of keys of one share wait. */
const passing = 32
const resyncMs = 1_800_000

export class Reconciler<World> {
  readonly #options: ReconcilerOptions<World>
  readonly #queue: KeyQueue
  readonly #memories = new Map<string, Memory>()
  readonly #contended = new Set<string>()
  /** The limits of the turns that are under way. */
  readonly #limits = new Map<string, TurnLimit>()
  readonly #turns = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #resync: Resync
  readonly #unlisten: (() => void)[] = []
  readonly #log: TurnLog
  readonly #breath: Breath
  #open = false

  constructor(options: ReconcilerOptions<World>) {
    const { clock, kind, room, log } = options
    const { shareOf = namespaceOf } = kind
    this.#options = options
    const groupOf = (key: string) => this.#memories.get(key)?.holder ?? 'unknown'
    this.#queue = new KeyQueue({ clock, gatherMs, room, shareOf, passing, groupOf, onReady: () => this.#pump() })
    this.#breath = new Breath(clock, () => this.#pump())
    this.#log = new TurnLog(kind.name, log, clock)
    this.#resync = new Resync({
      clock,
      ms: options.resyncMs ?? resyncMs,
      // Also those whose event was lost by a defect.
      keys: () => [...this.#memories.keys(), ...kind.sources.flatMap(source => [...keysIn(source)])],
      look: key => this.#lookAfresh(key),
    })
    for (const { watch, keysOf, made = false } of kind.sources) {
      const listener = watch.on(change => {
        const isNew = made && change.type === 'put' && change.previous === undefined
        const isMade = isNew && change.value.owners.some(owner => isParent(owner, kind.parent))
        for (const { key, urgent } of keysOf(change)) {
          if (isMade) this.#isAtWork(key)
          this.#ask(key, urgent, true)
        }
      })
      this.#unlisten.push(listener)
    }
  }

  /** Takes turns once all watches show the cluster. */
  start(): void {
    const { kind } = this.#options
    const { signal } = this.#stopping
    const open = () => {
      this.#open = true
      this.#resync.start()
      this.#pump()
    }
    Promise.all(kind.sources.map(({ watch }) => watch.whenSynced(signal))).then(open, () => {})
  }

  /** Begins no more writes. Resolves when those in flight are answered, or their turn is over. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the reconciler was stopped'))
    for (const unlisten of this.#unlisten) unlisten()
    await Promise.all([this.#queue.stop(), this.#resync.stop()])
    await Promise.all(this.#turns)
  }

  /** Asks for a look at a key. Only this replica may know why, so it leaves nothing to others. */
  poke(key: string, urgent = false): void {
    this.#ask(key, urgent, false)
    this.#gauge()
  }

  /** Asks for a look at every key that is held, as when something changed that no source shows. */
  pokeAll(urgent = false): void {
    for (const key of this.#memories.keys()) this.poke(key, urgent)
  }

  /** Redis may have lost what effects wrote: all are written again. */
  effectsLost(): void {
    for (const key of this.#memories.keys()) this.#lookAfresh(key)
    this.#gauge()
  }

  #lookAfresh(key: string): void {
    this.#memories.get(key)?.effects.clear()
    this.#queue.add(key, false)
  }

  /** @param mayLeave every replica is asked */
  #ask(key: string, urgent: boolean, mayLeave: boolean): void {
    const { kind, clock } = this.#options
    const memory = this.#memories.get(key)
    if (memory) memory.asked += 1
    const isDeferred = mayLeave && memory?.holder === 'other' && !isRecent(memory, clock)
    this.#queue.add(key, urgent, { mayLeave, deferMs: isDeferred ? leftMs : 0 })
    const limit = urgent ? this.#limits.get(key) : undefined
    if (limit && mustRevoke(kind, key, this.#memoryOf(key), clock)) limit.interrupt()
  }

  /** An object of the key was made: unless it is known who does the work of the key, it is taken for another replica. */
  #isAtWork(key: string): void {
    // Objects of the first list name no holder. While Redis is silent, all replicas make the same objects.
    if (!this.#open || this.#options.holding.isSilent) return
    const memory = this.#memoryOf(key)
    if (memory.holder === 'unknown') memory.holder = 'other'
  }

  #pump(): void {
    while (this.#open && !this.#stopping.signal.aborted && this.#breath.isFree()) {
      const taken = this.#queue.take()
      if (!taken) break
      const turn = this.#take(taken)
      this.#turns.add(turn)
      void turn.finally(() => {
        this.#turns.delete(turn)
        this.#queue.done(taken.key)
      })
    }
    this.#gauge()
  }

  async #take(taken: Taken): Promise<void> {
    const { kind, metrics, clock } = this.#options
    const { key, sinceMs } = taken
    const memory = this.#memoryOf(key)
    const { wasTaken } = memory
    memory.wasTaken = true
    let end: TurnEnd
    try {
      end = await this.#turn(taken, memory)
      if (end.result === 'left') await this.#left(key, wasTaken)
    } catch (error) {
      end = { result: 'failed', writes: 0, error }
    }
    this.#log.ended(key, memory.failures, end)
    metrics.reconcileTurns.inc({ kind: kind.name, result: end.result })
    if (end.writes > 0) metrics.reconcileReaction.observe({ kind: kind.name }, (clock.monotonicMs() - sinceMs) / 1000)
    this.#after(taken, memory, end)
  }

  async #turn({ key, urgent, mayLeave }: Taken, memory: Memory): Promise<TurnEnd> {
    const { kind, kube, clock, leaseTtlMs, leases, holding, leaseKey, lockKey, metrics } = this.#options
    const limit = new TurnLimit(clock, leaseTtlMs * turnShare, this.#stopping.signal)
    this.#limits.set(key, limit)
    const agent = `${kind.name}=${encodeURIComponent(key)}`
    let token = ''
    const call = (place: string) => ({
      signal: limit.signal,
      agent: `${agent}${token}`,
      check: () => limit.check(),
      failpoint: (at: string) => this.#options.failpoint(`reconcile.${kind.name}.${place}.${at}`, key),
    })
    const acquire = async () => {
      const lease = await leases.acquireTask(leaseKey(`${kind.name}:${key}`))
      if (lease) token = ` turn=${lease.token.slice(0, 8)}`
      return lease
    }
    const takeLock = (name: string) => leases.acquireTask(lockKey(name))
    const writer = new Writer({ kube, sights: kind.sources.map(({ watch }) => watch), call })
    const ends = () => this.#stopping.signal.aborted
    const onWrite = (verb: string, result: string) => metrics.reconcileWrites.inc({ kind: kind.name, verb, result })
    const onAnswer = (ms: number) => this.#queue.answered(ms)
    const onDefect = (error: unknown) => this.#log.defect(key, error)
    const outside = { clock, writer, limit, holding, acquire, takeLock, ends, onWrite, onAnswer, onDefect }
    try {
      return await new Turn({ kind, key, mayLeave: mayLeave && !urgent, memory, ...outside }).take()
    } finally {
      limit.release()
      this.#limits.delete(key)
    }
  }

  async #left(key: string, wasTaken: boolean): Promise<void> {
    const { clock, kind, leaseTtlMs } = this.#options
    const limit = new TurnLimit(clock, leaseTtlMs * turnShare, this.#stopping.signal)
    try {
      if (wasTaken && kind.onGone) await unlessAborted(kind.onGone(key, limit.signal), limit.signal)
    } finally {
      limit.release()
    }
    this.#memories.delete(key)
    this.#contended.delete(key)
  }

  /** Asks for the next look at the key, if nothing happens before. */
  #after(taken: Taken, memory: Memory, end: TurnEnd): void {
    const { key, sinceMs } = taken
    const { clock } = this.#options
    if (end.result === 'left' || this.#stopping.signal.aborted) return void this.#queue.forget(key)
    if (memory.rivals.leftMs(clock.monotonicMs()) > 0) this.#contended.add(key)
    else this.#contended.delete(key)
    const next = nextLook(end, taken, memory, clock)
    // The asked work is not done yet.
    const isOpen = end.result !== 'idle' && end.result !== 'done'
    if (next) this.#queue.after(key, next.ms, { ...next, sinceMs: isOpen ? sinceMs : undefined })
    else this.#queue.forget(key)
  }

  #memoryOf(key: string): Memory {
    const known = this.#memories.get(key)
    if (known) return known
    const memory = newMemory(this.#options.rivals)
    this.#memories.set(key, memory)
    return memory
  }

  #gauge(): void {
    const { metrics, kind } = this.#options
    metrics.reconcileQueue.set({ kind: kind.name }, this.#queue.depth)
    metrics.reconcileContended.set({ kind: kind.name }, this.#contended.size)
  }
}

/** The key itself, where there is no namespace. */
const namespaceOf = (key: string): string => placeOf(key).namespace || key
