/** Whose limits a container counts for: the LNamespace that its owner is in, or `default`. */
import { unavailable } from '../base/errors.ts'
import type { EntryTable, TableRead } from '../store/apps/entries.ts'
import { type ClusterNames, lists, type Members, type Person } from '../store/apps/members.ts'
import { noTenant, whichTenant } from './problems.ts'

/** The tenant of whoever is in none that counts. No LNamespace can have this name. */
export const defaultTenant = 'default'

export interface TenancyOptions {
  /** As the controller of tenants writes it. Undefined: there are no tenants. */
  readonly table: Pick<EntryTable<Members>, 'readSome' | 'version'> | undefined
  readonly names: ClusterNames
  /** Those that count. Anybody may make an LNamespace, so others change nothing. */
  readonly tenants: readonly string[]
}

export class Tenancy {
  readonly #options: TenancyOptions
  readonly #tenants: readonly string[]
  #known: TableRead<Members> | undefined

  constructor(options: TenancyOptions) {
    this.#options = options
    this.#tenants = options.table ? options.tenants.filter(name => name !== defaultTenant) : []
  }

  /**
   * The tenant of a person: the one that is named, which must be his; else the only one that he is in.
   * @throws {ApiError} 422 when he is not in the one that is named, or names none of several; 503 while that is not known
   * @throws {RetryLater} when Redis does not answer
   */
  async tenantOf(person: Person, named?: string): Promise<string> {
    const own = await this.#own(person, this.#asked(named))
    if (named === undefined && own.length > 1) throw whichTenant(own)
    const [tenant = defaultTenant] = own
    if (named !== undefined && named !== tenant) throw noTenant()
    return tenant
  }

  /** Whoever names one is asked about that alone. */
  #asked(named: string | undefined): readonly string[] {
    if (named === undefined || named === defaultTenant) return this.#tenants
    if (!this.#tenants.includes(named)) throw noTenant()
    return [named]
  }

  async #own(person: Person, asked: readonly string[]): Promise<readonly string[]> {
    if (asked.length === 0) return []
    const { complete, entries, broken } = await this.#read()
    return asked.filter(name => {
      const entry = entries.get(name)
      if (!entry && (!complete || broken.has(name))) throw unavailable('the members of tenants are not known yet', 5)
      return entry !== undefined && lists(entry, person, this.#options.names)
    })
  }

  /** The table is asked each time whether it has changed, so nobody counts as a member for longer than it says. */
  async #read(): Promise<TableRead<Members>> {
    const table = this.#options.table!
    const version = await table.version()
    if (!this.#known?.complete || this.#known.version !== version) this.#known = await table.readSome(this.#tenants)
    return this.#known
  }
}
