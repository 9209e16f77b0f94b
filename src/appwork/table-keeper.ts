/**
 * Keeps a table of Redis that gateways follow as the watches want it: writes what is missing or differs, removes what belongs to
 * nobody any more, and marks it as complete. Turns write each change at once; this finds what no turn does, such as a Redis that
 * was emptied, and what was removed while nobody ran.
 */

import { backoffMs } from '../base/backoff.ts'
import { canonical } from '../base/canonical.ts'
import type { Clock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { jittered } from '../base/loop.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { Leases } from '../leases/leases.ts'
import type { Entry, PutAnswer, TableRead } from '../store/apps/entries.ts'
import { Rarely } from '../telemetry/rarely.ts'

export interface KeptTable<T extends Entry> {
  /** For logs. */
  readonly name: string
  /** By name. Pure. Undefined while the watches do not show all. */
  readonly wanted: () => ReadonlyMap<string, T> | undefined
  readonly read: () => Promise<Pick<TableRead<T>, 'complete' | 'entries'>>
  /** Tells cheaply whether the table is complete, and has changed. */
  readonly version: () => Promise<string>
  readonly put: (name: string, entry: T) => Promise<PutAnswer>
  readonly remove: (name: string, uid: string) => Promise<boolean>
  readonly complete: () => Promise<void>
  /** Whether an object has this entry although none is wanted: the entry stays as it is. */
  readonly keeps: (name: string, entry: T) => boolean
  /** Whether no object has this entry any more, as the API server itself says: a watch may lag. */
  readonly isGone: (name: string, entry: T, signal: AbortSignal) => Promise<boolean>
}

export interface TableKeeperOptions<T extends Entry> {
  readonly table: KeptTable<T>
  readonly clock: Clock
  readonly log: Log
  readonly leases: Pick<Leases, 'acquireTask'>
  readonly lease: string
}

/** How often a replica looks whether the table is complete: two small reads each minute. */
const restMs = 30_000
/**
 * A table that was as wanted is read again after this time. Nobody may tell of a change: an app that is deleted before its first
 * turn has no turn that removes its entry, and a replica may die after it wrote an outdated entry.
 */
const keptMs = 300_000
/** Another replica does it, or something is not known yet. */
const soonMs = 1_000
const jitter = 0.1
/** Writes at once. */
const batch = 50

export class TableKeeper<T extends Entry> {
  readonly #options: TableKeeperOptions<T>
  readonly #duty: Duty
  readonly #trouble: Rarely
  /** The mark of the table when it was last found to be as wanted, and the time by the monotonic clock. */
  #kept: { readonly mark: string; readonly atMs: number } | undefined
  /** A comparison was asked for since the last round looked at what is wanted. */
  #isAsked = false

  constructor(options: TableKeeperOptions<T>) {
    const { clock, log, leases, lease, table } = options
    this.#options = options
    this.#trouble = new Rarely({
      ...{ clock, log, trouble: `the table of ${table.name} cannot be compared` },
      over: `the table of ${table.name} can be compared again`,
    })
    this.#duty = new Duty({
      ...{ clock, leases, lease },
      round: async take => {
        const rest = await this.#round(take)
        this.#trouble.worked()
        return rest
      },
      failed: (error, failures) => {
        this.#trouble.failed((error as Error).message)
        return { ms: backoffMs(failures, { baseMs: soonMs, capMs: restMs }) }
      },
    })
  }

  start(): void {
    this.#duty.start()
  }

  /** Compares the table soon: Redis may have lost it, or something has ended. */
  compare(): void {
    this.#kept = undefined
    this.#isAsked = true
    this.#duty.wake()
  }

  stop(): Promise<void> {
    return this.#duty.stop()
  }

  async #round(take: Take): Promise<DutyRest> {
    const { table, clock } = this.#options
    this.#isAsked = false
    const wanted = table.wanted()
    if (!wanted) return { ms: soonMs }
    const rest = { ms: jittered(restMs, jitter) }
    const mark = markOf(await table.version())
    if (this.#isKept(mark)) return rest
    const atMs = clock.monotonicMs()
    const standing = await table.read()
    const { missing, extra } = differences(wanted, standing.entries, table.keeps)
    if (standing.complete && missing.length === 0 && extra.length === 0) {
      // Else something else is wanted by now, and the next round begins at once.
      if (!this.#isAsked) this.#kept = { mark, atMs }
      return rest
    }
    if ((await take()) === null) return { ms: jittered(soonMs, jitter) }
    const isWhole = (await this.#remove(extra)) && (await this.#put(missing))
    if (isWhole) await table.complete()
    // The written entries are compared once more: a turn may have written something else meanwhile.
    return { ms: soonMs }
  }

  #isKept(mark: string): boolean {
    return this.#kept?.mark === mark && this.#options.clock.monotonicMs() - this.#kept.atMs < keptMs
  }

  /** @returns false if one of them is not gone, or another one has its name now */
  async #remove(extra: readonly (readonly [string, T])[]): Promise<boolean> {
    const { table } = this.#options
    const { signal } = this.#duty
    let isWhole = true
    for (const [name, entry] of extra) {
      if (!(await table.isGone(name, entry, signal))) isWhole = false
      else await table.remove(name, entry.uid)
    }
    return isWhole
  }

  /** @returns false if a later entry is in one of the places */
  async #put(missing: readonly (readonly [string, T])[]): Promise<boolean> {
    let isWhole = true
    for (let i = 0; i < missing.length; i += batch) {
      this.#duty.signal.throwIfAborted()
      const answers = await Promise.all(missing.slice(i, i + batch).map(([name, entry]) => this.#putOne(name, entry)))
      if (answers.includes('older')) isWhole = false
    }
    return isWhole
  }

  /** An entry that no reader would take is left out: it must not keep the table from being complete. */
  async #putOne(name: string, entry: T): Promise<PutAnswer | 'unfit'> {
    const { table, log } = this.#options
    try {
      return await table.put(name, entry)
    } catch (error) {
      if (error instanceof RetryLater) throw error
      log.error({ err: error, name }, `an entry of the table of ${table.name} is not fit to be written`)
      return 'unfit'
    }
  }
}

/** Only the time at which it became complete: the number of its changes rises with each turn. */
const markOf = (version: string): string => version.split(' ')[0]!

function differences<T extends Entry>(
  wanted: ReadonlyMap<string, T>,
  standing: ReadonlyMap<string, T>,
  keeps: KeptTable<T>['keeps'],
) {
  const isSame = (name: string, entry: T) => canonical(standing.get(name)) === canonical(entry)
  return {
    missing: [...wanted].filter(([name, entry]) => !isSame(name, entry)),
    extra: [...standing].filter(([name, entry]) => wanted.get(name)?.uid !== entry.uid && !keeps(name, entry)),
  }
}
