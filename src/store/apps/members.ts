/**
 * The table of members: who is in a group, as its LNamespace says. Controllers of apps write it, gateways read it. A group
 * without an entry has no LNamespace. Of two LNamespaces with one name, the newer one has the entry.
 */
import { z } from 'zod'
import type { Keys } from '../keys.ts'
import { EntryTable, type PutAnswer, type TableConnection, type TableRead } from './entries.ts'
import { uidForm, whole } from './routes.ts'

export interface Members {
  /** Of the LNamespace. */
  readonly uid: string
  readonly generation: number
  /** When the LNamespace was made, in ms since the epoch. */
  readonly createdMs: number
  /** Names of the cluster, as the LNamespace has them. */
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

/** An LNamespace has two lists of 500 each. */
const names = z.array(z.string().min(1).max(512)).max(2_000)

const schema: z.ZodType<Members> = z.strictObject({
  uid: uidForm,
  generation: whole,
  createdMs: whole,
  users: names,
  groups: names,
})

export interface MembersRead extends Omit<TableRead<Members>, 'entries'> {
  readonly members: ReadonlyMap<string, Members>
}

export class MemberStore {
  readonly #table: EntryTable<Members>

  constructor(connection: TableConnection, keys: Keys) {
    this.#table = new EntryTable(connection, keys, {
      key: keys.apps.members,
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
