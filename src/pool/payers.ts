/** The tags that say who pays for a machine: its tenant, and of that one's billing the keys that the configuration names. */
import { defaultTenant } from '../dispatch/container.ts'
import type { TagNames } from '../dispatch/tags.ts'
import type { TableRead } from '../store/apps/entries.ts'
import type { Members, SomeMembers } from '../store/apps/members.ts'

type Tags = Readonly<Record<string, string>>

export interface PayersOptions {
  readonly members: Pick<SomeMembers, 'read'>
  /** Those that count, beside `default`. */
  readonly tenants: readonly string[]
  /** Keys of billing that become tags. A cloud has few tags for each machine, and editors of an LNamespace may invent keys. */
  readonly keys: readonly string[]
  readonly names: Pick<TagNames, 'tenant' | 'billing'>
}

/** Units of 16 bits. */
const longestValue = 256

/** Editors of an LNamespace write the value. A request with a tag that the cloud refuses makes no machine, for anybody. */
const fitting = (value: string): string =>
  value
    .replaceAll(/[\p{Cn}\p{Co}\p{Cs}]/gu, '\u{FFFD}')
    .slice(0, longestValue)
    .toWellFormed()
    .trim()

export class Payers {
  readonly #options: PayersOptions
  #read: Pick<TableRead<Members>, 'complete' | 'entries' | 'broken'> | undefined

  constructor(options: PayersOptions) {
    this.#options = options
  }

  /** Reads who pays now. @throws {RetryLater} when Redis does not answer */
  async refresh(): Promise<void> {
    this.#read = await this.#options.members.read()
  }

  /** The tags that a machine of this tenant should have, as read last; none of billing while that is not known. */
  tagsOf(tenant: string): Tags {
    const { names, keys } = this.#options
    const billing = this.#billingOf(tenant)
    if (!billing) return { [names.tenant]: tenant }
    const value = (key: string) => (Object.hasOwn(billing, key) ? fitting(billing[key]!) : '')
    return { [names.tenant]: tenant, ...Object.fromEntries(keys.map(key => [`${names.billing}${key}`, value(key)])) }
  }

  /** The tenant of a machine that only the cloud knows. Anybody with the account may write tags: only what counts is believed. */
  tenantOf(tags: Tags): string {
    const { names, tenants } = this.#options
    return tenants.find(each => Object.hasOwn(tags, names.tenant) && tags[names.tenant] === each) ?? defaultTenant
  }

  #billingOf(tenant: string): Readonly<Record<string, string>> | undefined {
    if (tenant === defaultTenant) return {}
    const entry = this.#read?.entries.get(tenant)
    if (entry) return entry.billing ?? {}
    return this.#read?.complete && !this.#read.broken.has(tenant) ? {} : undefined
  }
}
