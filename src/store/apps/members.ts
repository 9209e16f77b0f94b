/**
 * Two tables list the members of groups, by their LNamespaces. Controllers of apps write one, and gateways read it. Controllers
 * of tenants write the other, and the replicas of dispatch read it. A group without an entry has no LNamespace. If two
 * LNamespaces have one name, the newer one has the entry.
 */
import { z } from 'zod'
import type { Billing } from '../../base/bill.ts'
import type { Keys } from '../keys.ts'
import { EntryTable, type PutAnswer, type TableConnection, type TableRead } from './entries.ts'
import { uidForm, whole } from './routes.ts'

export interface Members {
  /** The UID of the LNamespace. */
  readonly uid: string
  readonly generation: number
  /** When the LNamespace was made, in ms since the epoch. */
  readonly createdMs: number
  /** Names of the cluster, as the LNamespace has them. */
  readonly users: readonly string[]
  readonly groups: readonly string[]
  /** The payer, in the table of tenants alone. */
  readonly billing?: Billing | undefined
}

/** An LNamespace has two lists of 500 each. */
const names = z.array(z.string().min(1).max(512)).max(2_000)

const schema: z.ZodType<Members> = z.strictObject({
  uid: uidForm,
  generation: whole,
  createdMs: whole,
  users: names,
  groups: names,
  // Characters of values beyond 16 bits count twice here.
  billing: z.record(z.string().max(63), z.string().max(512)).optional(),
})

export interface MembersRead extends Omit<TableRead<Members>, 'entries'> {
  readonly members: ReadonlyMap<string, Members>
}

export class MemberStore {
  readonly #table: EntryTable<Members>

  /** @param key of the table: that of apps, or that of tenants */
  constructor(connection: TableConnection, keys: Keys, key = keys.apps.members) {
    this.#table = new EntryTable(connection, keys, {
      key,
      what: 'members',
      kind: 'group',
      prefers: 'newest',
      schema,
      isOf: () => true,
    })
  }

  /** As `RouteStore.put`. Pass the names in a fixed order: another order is a change. */
  put(group: string, members: Members): Promise<PutAnswer> {
    return this.#table.put(group, members)
  }

  /** Removes the members of an LNamespace that is gone: the identity's groups decide again. */
  remove(group: string, uid: string): Promise<boolean> {
    return this.#table.remove(group, uid)
  }

  /**
   * Says that every LNamespace has its entry here, also where there are none. Until then, nobody is a member at gateways that
   * have just started.
   */
  complete(): Promise<void> {
    return this.#table.complete()
  }

  /** @throws {RetryLater} when Redis does not answer */
  async read(): Promise<MembersRead> {
    const { entries: members, ...rest } = await this.#table.read()
    return { ...rest, members }
  }

  /** For readers that follow it. */
  get table(): Pick<EntryTable<Members>, 'read' | 'readSome' | 'version'> {
    return this.#table
  }
}

/** Some entries, for readers that need no others: they are read again only when the table has changed. */
export class SomeMembers {
  readonly #table: Pick<EntryTable<Members>, 'readSome' | 'version'>
  readonly #names: readonly string[]
  #known: TableRead<Members> | undefined

  constructor(table: Pick<EntryTable<Members>, 'readSome' | 'version'>, names: readonly string[]) {
    this.#table = table
    this.#names = names
  }

  /** As the table is now. @throws {RetryLater} when Redis does not answer */
  async read(): Promise<TableRead<Members>> {
    const version = await this.#table.version()
    if (this.#known?.complete && this.#known.version === version) return this.#known
    this.#known = await this.#table.readSome(this.#names)
    return this.#known
  }
}

/** How people of the identity provider are called in the cluster: `tenants.rest`. */
export interface ClusterNames {
  readonly usernameTemplate?: string | undefined
  readonly groupTemplate?: string | undefined
}

/** A person, by names of the identity provider. */
export interface Person {
  readonly user: string
  readonly groups: readonly string[]
}

/** Whether an entry lists a person. Without a template it lists nobody. */
export function lists({ users, groups }: Members, person: Person, names: ClusterNames): boolean {
  const name = filled(names.usernameTemplate, '{username}', person.user)
  if (name !== undefined && users.includes(name)) return true
  return person.groups.some(each => {
    const called = filled(names.groupTemplate, '{group}', each)
    return called !== undefined && groups.includes(called)
  })
}

/** Not `replaceAll`, which gives `$` a meaning. @returns undefined if nobody can be called so */
function filled(template: string | undefined, mark: string, name: string): string | undefined {
  const full = template?.split(mark).join(name)
  return full?.startsWith('system:') ? undefined : full
}
