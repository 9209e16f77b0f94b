/** The commands of replicas that own no lab's operation: acceptances and reads. */
import type { LabEvent } from '../base/domain.ts'
import type { Connection, Entry } from './connection.ts'
import type { Keys } from './keys.ts'
import { OperationStore, type OperationStoreOptions } from './operations.ts'
import { type LabRecord, parseEvent, parseRecord } from './records.ts'

export type LabStoreOptions = Omit<OperationStoreOptions, 'family'>

export class LabStore extends OperationStore {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(options: LabStoreOptions) {
    super({ ...options, family: options.keys })
    this.#connection = options.connection
    this.#keys = options.keys
  }

  /** Whether the init container has once succeeded for a user, as far as this Redis knows. */
  async provisioned(user: string): Promise<boolean> {
    return (await this.#connection.read('sismember', redis => redis.sismember(this.#keys.provisioned, user))) === 1
  }

  async lab(user: string): Promise<{ record: LabRecord; events: LabEvent[] } | null> {
    const k = this.#keys
    const [answer, flat, entries] = await this.ask('read-lab', [k.record(user), k.events(user)], [])
    const record = answer === 'lab' ? parseRecord(flat as string[], user) : null
    return record && { record, events: (entries as Entry[]).map(parseEvent) }
  }

  /** Users whose lab is running, sorted. */
  async running(): Promise<string[]> {
    const [, users] = await this.ask('list-running', [this.#keys.index], [])
    // Redis sorts by bytes; a client sorts by characters, and they differ outside the basic plane.
    return (users as string[]).sort()
  }

  /** True if the data of this Redis were compared with the cluster. Does not wait for a compare. */
  async compared(): Promise<boolean> {
    const identity = await this.#connection.identity()
    const stored = await this.#connection.read('hget', redis => redis.hget(this.#keys.generation, 'identity'))
    return identity === stored
  }
}
