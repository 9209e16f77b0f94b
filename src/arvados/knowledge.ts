/** The last known state in Arvados of the containers that are locked by our token, that wait, and that we have. */
import type { Clock } from '../base/clock.ts'
import type { Mirrored, Theirs } from '../dispatch/mirrored.ts'
import type { Listed } from './answers.ts'
import { type ArvadosClient, ArvadosError, type Filter } from './client.ts'

export interface KnowledgeOptions {
  readonly client: Pick<ArvadosClient, 'list' | 'current'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** How many waiting ones are looked at, those of the highest priorities. */
  readonly mostListed: number
  /** Records of Arvados that are not as they must be. */
  readonly onBad: (count: number) => void
}

/** Lines of a page, and uuids of a filter, as Arvados' own dispatcher has them. */
const [pageSize, byUuid] = [500, 20]
/** More containers than that are not one dispatcher's. */
const mostPages = 200

export class Knowledge {
  readonly #options: KnowledgeOptions
  readonly #known = new Map<string, Listed | null>()
  readonly #doubted = new Set<string>()
  /** Doubtful containers that were asked for in vain: they are not asked for again before everything is. */
  readonly #unreadable = new Set<string>()
  #polledMs: number | undefined
  /** How often everything was asked for. */
  polls = 0

  constructor(options: KnowledgeOptions) {
    this.#options = options
  }

  clear(): void {
    this.#known.clear()
    this.#doubted.clear()
    this.#unreadable.clear()
    this.#polledMs = undefined
  }

  /** Null if Arvados has none of this uuid; undefined while that is not known. */
  of(theirs: string): Theirs | null | undefined {
    return this.#doubted.has(theirs) ? undefined : this.#known.get(theirs)
  }

  /** Those that Arvados has and that are not in doubt. */
  get all(): Listed[] {
    return [...this.#known.values()].filter(each => each !== null && !this.#doubted.has(each.uuid)) as Listed[]
  }

  learn(listed: Listed): void {
    this.#doubted.delete(listed.uuid)
    this.#unreadable.delete(listed.uuid)
    // An answer to a change has the rank too: Arvados may have changed it.
    this.#known.set(listed.uuid, listed)
  }

  /** It is asked for by the next refresh. */
  doubt(theirs: string): void {
    this.#doubted.add(theirs)
  }

  get #open(): readonly string[] {
    return [...this.#doubted].filter(uuid => !this.#unreadable.has(uuid))
  }

  dueInMs(pollMs: number): number {
    if (this.#polledMs === undefined || this.#open.length > 0) return 0
    return Math.max(0, this.#polledMs + pollMs - this.#options.clock.monotonicMs())
  }

  /** Asks for what is in doubt, and for everything when its time has come. @throws {ArvadosError} */
  async refresh(mirrored: readonly Mirrored[], pollMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const isDue = this.#polledMs === undefined || clock.monotonicMs() >= this.#polledMs + pollMs
    if (!isDue) {
      await this.#ask(this.#open, signal)
      return
    }
    const begunMs = clock.monotonicMs()
    const mine = await this.#mine(signal)
    const waiting = await this.#waiting(signal)
    this.#known.clear()
    this.#doubted.clear()
    this.#unreadable.clear()
    for (const each of [...waiting, ...mine]) this.#known.set(each.uuid, each)
    this.#polledMs = begunMs
    this.polls += 1
    for (const { theirs } of mirrored) if (!this.#known.has(theirs)) this.#doubted.add(theirs)
    await this.#ask(this.#doubted, signal)
  }

  async #mine(signal: AbortSignal): Promise<Listed[]> {
    const found: Listed[] = []
    let after = ''
    for (let pages = 0; pages < mostPages; pages += 1) {
      const locked: Filter = ['locked_by_uuid', '=', await this.#options.client.current(signal)]
      const filters: Filter[] = after === '' ? [locked] : [locked, ['uuid', '>', after]]
      const { items } = await this.#page({ filters, order: 'uuid', limit: pageSize }, signal)
      const last = items.at(-1)?.uuid
      if (last === undefined) return found
      // Without a new place the same page would come for ever.
      if (last <= after) throw misled()
      found.push(...items.filter(({ mine }) => mine))
      after = last
    }
    throw misled()
  }

  async #waiting(signal: AbortSignal): Promise<Listed[]> {
    const { mostListed } = this.#options
    const filters: Filter[] = [
      ['state', '=', 'Queued'],
      ['priority', '>', '0'],
    ]
    const found = new Map<string, Listed>()
    // Pages may be short, but not each of them.
    let pages = (2 * mostListed) / pageSize
    for (let offset = 0; offset < mostListed && pages > 0; pages -= 1) {
      const limit = Math.min(pageSize, mostListed - offset)
      const { items, bad } = await this.#page({ filters, order: 'priority desc', limit, offset }, signal)
      if (items.length + bad === 0) break
      for (const each of items) if (each.state === 'Queued' && each.priority > 0) found.set(each.uuid, each)
      offset += items.length + bad
    }
    return [...found.values()]
  }

  /** A short page may be one of a size that Arvados bounds: only an empty one says that there are none. */
  async #ask(uuids: Iterable<string>, signal: AbortSignal): Promise<void> {
    const missing = new Set(uuids)
    while (missing.size > 0) {
      const part = [...missing].slice(0, byUuid)
      const filters: Filter[] = [['uuid', 'in', part]]
      const { items, bad } = await this.#page({ filters, order: 'uuid', limit: part.length }, signal)
      if (items.length + bad === 0) for (const uuid of part) this.#gone(uuid, missing)
      else if (items.length === 0) for (const uuid of part) this.#leave(uuid, missing)
      for (const each of items) {
        if (!missing.delete(each.uuid)) throw misled()
        this.learn(each)
      }
    }
  }

  /** It cannot be read now, and stays in doubt. */
  #leave(uuid: string, missing: Set<string>): void {
    missing.delete(uuid)
    this.#unreadable.add(uuid)
  }

  #gone(uuid: string, missing: Set<string>): void {
    missing.delete(uuid)
    this.#doubted.delete(uuid)
    this.#known.set(uuid, null)
  }

  async #page(query: Parameters<ArvadosClient['list']>[0], signal: AbortSignal) {
    const page = await this.#options.client.list(query, signal)
    if (page.bad > 0) this.#options.onBad(page.bad)
    return page
  }
}

const misled = () => new ArvadosError('unclear', 'list: the answer does not match what was asked for')
