/**
 * A table of Redis, followed: rings name entries to read again, and a look every two seconds finds changes without a ring. A table
 * without its mark is lost or not whole yet: its known entries stay.
 */
import { backoffMs } from '../../base/backoff.ts'
import type { Clock } from '../../base/clock.ts'
import { type Log, logUnexpected } from '../../base/log.ts'
import { Loop, type Rest } from '../../base/loop.ts'
import type { Entry, EntryTable, TableRead } from '../../store/apps/entries.ts'
import type { AppRing, AppRung } from '../../store/apps/rings.ts'

const sweepMs = 2_000
const again = { baseMs: 100, capMs: 1_000 }

export interface FollowedOptions<T extends Entry> {
  readonly what: AppRung['what']
  readonly table: Pick<EntryTable<T>, 'read' | 'readSome' | 'version'>
  readonly bell: { on(listener: (ring: AppRing) => void): () => void }
  readonly clock: Clock
  readonly log: Log
  /** Gets the number of entries that could not be read and are left out, at each look at all. */
  readonly onBroken?: (entries: number) => void
}

interface News<T> {
  readonly entries: ReadonlyMap<string, T>
  readonly broken: ReadonlySet<string>
  /** Names that were asked for: what is not broken can be read, or is not there. */
  readonly asked: Iterable<string>
  /** Names without an entry are gone. */
  readonly leaving: Iterable<string>
  /** The absence of all others has become known too. */
  readonly isFirst?: boolean
}

/** Names whose entries have changed. */
export type Changed = ReadonlySet<string>

export class FollowedTable<T extends Entry> {
  readonly #options: FollowedOptions<T>
  readonly #loop: Loop
  readonly #listeners = new Set<(changed: Changed) => void>()
  #entries = new Map<string, T>()
  /** Names whose entries could not be read. */
  #unread = new Set<string>()
  /** It was complete at some time, so what has no entry is not there. */
  #isWhole = false
  #version: string | undefined
  #isAllDue = true
  #due = new Set<string>()
  #checkedMs = Number.NEGATIVE_INFINITY
  #triedMs = Number.NEGATIVE_INFINITY
  #waiting: (() => void)[] = []
  #off = () => {}

  constructor(options: FollowedOptions<T>) {
    this.#options = options
    const { clock, log, what } = options
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      failed: (error, failures) => {
        logUnexpected(log, error, `the table of ${what} could not be read`)
        return { ms: backoffMs(failures, again) }
      },
    })
  }

  start(): void {
    this.#off = this.#options.bell.on(ring => this.#heard(ring))
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#off()
    await this.#loop.stop()
    this.#answer(this.#waiting.splice(0))
  }

  /** @returns 'unknown' if its entry cannot be read, or the table was never whole and the entry not seen */
  get(name: string): T | undefined | 'unknown' {
    if (this.#unread.has(name)) return 'unknown'
    return this.#entries.get(name) ?? (this.#isWhole ? undefined : 'unknown')
  }

  /** Whether the table was ever whole. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  get size(): number {
    return this.#entries.size
  }

  /** When the last look began that was answered, by the monotonic clock. The known entries are no older. */
  get checkedMs(): number {
    return this.#checkedMs
  }

  /** When the last look began that has ended, answered or not. */
  get triedMs(): number {
    return this.#triedMs
  }

  /** Looks now. Resolves when that has ended, answered or not. */
  look(): Promise<void> {
    if (this.#loop.signal.aborted) return Promise.resolve()
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      this.#loop.wake()
    })
  }

  /** Called after each change, with the names of changed entries. */
  onChange(listener: (changed: Changed) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #heard({ what, subject }: AppRing): void {
    if (what !== this.#options.what && what !== 'missed') return
    if (subject) this.#due.add(subject.name)
    else this.#isAllDue = true
    this.#loop.wake()
  }

  async #round(): Promise<Rest> {
    const served = this.#waiting.splice(0)
    const startMs = this.#nowMs
    try {
      if (!this.#isAllDue && this.#due.size > 0) await this.#readDue()
      if (this.#isAllDue || served.length > 0 || startMs - this.#checkedMs >= sweepMs) await this.#readAll(startMs)
    } finally {
      this.#triedMs = startMs
      this.#answer(served)
    }
    return { ms: Math.max(0, this.#checkedMs + sweepMs - this.#nowMs) }
  }

  async #readDue(): Promise<void> {
    const names = this.#due
    this.#due = new Set()
    try {
      const { complete, entries, broken } = await this.#options.table.readSome([...names])
      this.#apply({ entries, broken, asked: names, leaving: complete ? names : [] })
    } catch (error) {
      for (const name of names) this.#due.add(name)
      throw error
    }
  }

  /** Only where a cheap look says that something has changed. */
  async #readAll(startMs: number): Promise<void> {
    const { table, onBroken } = this.#options
    const isDue = this.#isAllDue
    this.#isAllDue = false
    try {
      if (isDue || (await table.version()) !== this.#version) {
        this.#due.clear()
        const read = await table.read()
        onBroken?.(read.broken.size)
        this.#applyAll(read)
      }
      this.#checkedMs = startMs
    } catch (error) {
      this.#isAllDue = true
      throw error
    }
  }

  #applyAll({ complete, version, entries, broken }: TableRead<T>): void {
    this.#version = version
    const isFirst = complete && !this.#isWhole
    this.#isWhole ||= complete
    const asked = complete ? [...this.#unread] : []
    this.#apply({ entries, broken, asked, leaving: complete ? [...this.#entries.keys()] : [], isFirst })
  }

  #apply({ entries, broken, asked, leaving, isFirst = false }: News<T>): void {
    const changed = this.#markUnread(broken, [...asked, ...entries.keys()])
    for (const name of leaving) {
      if (!entries.has(name) && !broken.has(name) && this.#entries.delete(name)) changed.add(name)
    }
    for (const [name, entry] of entries) {
      if (!this.#isNews(this.#entries.get(name), entry)) continue
      this.#entries.set(name, entry)
      changed.add(name)
    }
    if (changed.size === 0 && !isFirst) return
    for (const listener of this.#listeners) listener(changed)
  }

  /** @returns names of which it has changed whether their entries can be read */
  #markUnread(broken: ReadonlySet<string>, readable: Iterable<string>): Set<string> {
    const changed = new Set<string>()
    for (const name of readable) if (!broken.has(name) && this.#unread.delete(name)) changed.add(name)
    for (const name of broken) if (!this.#unread.has(name)) changed.add(name)
    this.#unread = this.#unread.union(broken)
    return changed
  }

  #isNews(known: T | undefined, entry: T): boolean {
    if (known?.uid !== entry.uid) return true
    // Redis may have lost the later one, and got it from a writer that was stopped.
    if (entry.generation < known.generation) return false
    return JSON.stringify(known) !== JSON.stringify(entry)
  }

  #answer(waiting: readonly (() => void)[]): void {
    for (const resolve of waiting) resolve()
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}
