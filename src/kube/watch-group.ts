/** Starts, awaits and stops several watches together. */
import type { Reflector, ReflectorStats } from './reflector.ts'

/** A watch of any kind. */
type AnyWatch = Pick<
  Reflector<unknown>,
  'start' | 'stop' | 'synced' | 'whenSynced' | 'lastWordAgeMs' | 'stats' | 'trouble' | 'on'
>

export class WatchGroup<Name extends string> {
  readonly #byName: Readonly<Record<Name, AnyWatch>>

  constructor(byName: Readonly<Record<Name, AnyWatch>>) {
    this.#byName = byName
  }

  start(): void {
    for (const reflector of this.all()) reflector.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.all().map(reflector => reflector.stop()))
  }

  /** Whether each was synced once. A watch that breaks later recovers by itself; see `lastWordAgeMs`. */
  ready(): boolean {
    return this.all().every(reflector => reflector.synced())
  }

  /** Resolves when `ready`; rejects with the signal's reason when that comes first. */
  async whenReady(signal: AbortSignal): Promise<void> {
    await Promise.all(this.all().map(reflector => reflector.whenSynced(signal)))
  }

  /**
   * For each watch, milliseconds since the API server last sent something. More than two minutes means that it is
   * broken.
   */
  lastWordAgeMs(): Record<Name, number> {
    return this.#each(reflector => reflector.lastWordAgeMs())
  }

  /** Why watches have no news, each reason once, in an operator's words. */
  troubles(): string[] {
    return [...new Set(this.all().flatMap(reflector => reflector.trouble() ?? []))]
  }

  stats(): Record<Name, ReflectorStats> {
    return this.#each(reflector => reflector.stats())
  }

  protected all(): readonly AnyWatch[] {
    return Object.values(this.#byName)
  }

  #each<R>(read: (reflector: AnyWatch) => R): Record<Name, R> {
    const entries = Object.entries<AnyWatch>(this.#byName)
    return Object.fromEntries(entries.map(([name, reflector]) => [name, read(reflector)])) as Record<Name, R>
  }
}
