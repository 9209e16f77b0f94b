/**
 * Tables that gateways follow: a hash with one entry for each name, as JSON, and marks. Controllers write them, gateways only
 * read them. A table without its mark is not empty, but lost or not whole yet: its readers keep what they have.
 */
import type { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import type { AppRung } from './rings.ts'

/** Names of marks begin with a colon, which no entry does. */
const completeMark = ':complete'
const changesMark = ':changes'
/** A writer that was stopped for longer than this may bring a removed entry back; the owner of the table removes it again. */
const removedMs = 3_600_000
/** The entry of an object that is still there may come back at once. */
const leftMs = 1

export type TableConnection = Pick<Connection, 'run' | 'read'>

export interface Entry {
  readonly uid: string
  readonly generation: number
  readonly createdMs: number
}

/** The answer to a writer; `older`: a later entry is there, and was not changed. */
export type PutAnswer = 'written' | 'same' | 'older'

export interface TableRead<T> {
  /** All objects that should have an entry have one. */
  readonly complete: boolean
  /** Equal texts mean equal tables. */
  readonly version: string
  readonly entries: ReadonlyMap<string, T>
  /** Names whose entries could not be read, and are left out: nothing is known of these. */
  readonly broken: ReadonlySet<string>
}

export interface TableOptions<T> {
  readonly key: string
  readonly what: AppRung['what']
  /** The kind of subjects of its rings. */
  readonly kind: string
  /** Which of two objects of one name has the entry. */
  readonly prefers: 'oldest' | 'newest'
  readonly schema: z.ZodType<T>
  /** Whether the entry may have this name. */
  readonly isOf: (name: string, entry: T) => boolean
}

export class EntryTable<T extends Entry> {
  readonly #connection: TableConnection
  readonly #keys: Keys
  readonly #options: TableOptions<T>

  constructor(connection: TableConnection, keys: Keys, options: TableOptions<T>) {
    this.#connection = connection
    this.#keys = keys
    this.#options = options
  }

  async put(name: string, entry: T): Promise<PutAnswer> {
    const { key, what, prefers, schema } = this.#options
    if (name.startsWith(':')) throw new Error(`not the name of an entry: ${name}`)
    // In the order of the schema, so that equal entries have equal texts.
    const value = JSON.stringify(schema.parse(entry))
    const keys = [key, this.#keys.apps.removed(entry.uid), this.#keys.apps.bell]
    const args = [name, entry.uid, entry.generation, entry.createdMs, value, prefers, what, this.#about(name)]
    return (await this.#connection.run('put-entry', keys, args)) as PutAnswer
  }

  /** @param lives the object is still there, and may get an entry again */
  async remove(name: string, uid: string, lives = false): Promise<boolean> {
    const keys = [this.#options.key, this.#keys.apps.removed(uid), this.#keys.apps.bell]
    const args = [name, uid, lives ? leftMs : removedMs, this.#options.what, this.#about(name)]
    return (await this.#connection.run('remove-entry', keys, args)) === 1
  }

  async complete(): Promise<void> {
    const { key, what } = this.#options
    await this.#connection.run('complete-entries', [key, this.#keys.apps.bell], [what])
  }

  /** Tells cheaply whether the table has changed. */
  async version(): Promise<string> {
    const { key } = this.#options
    const marks = await this.#connection.read('hmget', redis => redis.hmget(key, completeMark, changesMark))
    return versionOf(marks[0], marks[1])
  }

  async read(): Promise<TableRead<T>> {
    const { key } = this.#options
    const flat = await this.#connection.read('hgetall', redis => redis.hgetall(key))
    const fields = Object.entries(flat)
    const entries = new Map<string, T>()
    const broken = new Set<string>()
    for (const [name, text] of fields) {
      if (name.startsWith(':')) continue
      const entry = this.#parse(name, text)
      if (entry) entries.set(name, entry)
      else broken.add(name)
    }
    const [complete, changes] = [flat[completeMark], flat[changesMark]]
    return { complete: complete !== undefined, version: versionOf(complete, changes), entries, broken }
  }

  /** Some entries. Absent ones are not in the answer, nor are broken ones. */
  async readSome(names: readonly string[]): Promise<TableRead<T>> {
    const { key } = this.#options
    const fields = [completeMark, changesMark, ...names]
    const [complete, changes, ...texts] = await this.#connection.read('hmget', redis => redis.hmget(key, ...fields))
    const entries = new Map<string, T>()
    const broken = new Set<string>()
    for (const [i, name] of names.entries()) {
      const text = name.startsWith(':') ? null : texts[i]
      if (text === null || text === undefined) continue
      const entry = this.#parse(name, text)
      if (entry) entries.set(name, entry)
      else broken.add(name)
    }
    return { complete: typeof complete === 'string', version: versionOf(complete, changes), entries, broken }
  }

  #about(name: string): string {
    return `${this.#options.kind}:${name}`
  }

  #parse(name: string, text: string): T | undefined {
    const parsed = this.#options.schema.safeParse(parseJson(text))
    return parsed.success && this.#options.isOf(name, parsed.data) ? parsed.data : undefined
  }
}

const versionOf = (complete?: string | null, changes?: string | null) => `${complete ?? ''} ${changes ?? ''}`
