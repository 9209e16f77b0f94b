/** Finds the tenant for whose limits a container counts: the LNamespace that its owner is in, or `default`. */
import { unavailable } from '../base/errors.ts'
import { defaultTenant } from '../dispatch/container.ts'
import { type ClusterNames, lists, type Person, type SomeMembers } from '../store/apps/members.ts'
import { noTenant, whichTenant } from './problems.ts'

export interface TenancyOptions {
  /** The members of tenants that count, as the controller of tenants writes them. */
  readonly members: Pick<SomeMembers, 'read'>
  readonly names: ClusterNames
  /** Those that count, beside `default`. Anybody may make an LNamespace, so others change nothing. */
  readonly tenants: readonly string[]
}

export class Tenancy {
  readonly #options: TenancyOptions

  constructor(options: TenancyOptions) {
    this.#options = options
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

  /** If the caller names a tenant, only that one is looked at. */
  #asked(named: string | undefined): readonly string[] {
    const { tenants } = this.#options
    if (named === undefined || named === defaultTenant) return tenants
    if (!tenants.includes(named)) throw noTenant()
    return [named]
  }

  async #own(person: Person, asked: readonly string[]): Promise<readonly string[]> {
    if (asked.length === 0) return []
    const { members, names } = this.#options
    const { complete, entries, broken } = await members.read()
    return asked.filter(name => {
      const entry = entries.get(name)
      if (!entry && (!complete || broken.has(name))) throw unavailable('the members of tenants are not known yet', 5)
      return entry !== undefined && lists(entry, person, names)
    })
  }
}
