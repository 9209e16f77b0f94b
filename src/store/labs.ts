/** The commands that accept operations on labs, and that read labs. */
import type { LabCreation } from './acceptance.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { OperationStore, type OperationStoreOptions } from './operations.ts'
import { type LabRecord, labForm } from './records.ts'

export type LabStoreOptions = Omit<OperationStoreOptions<LabRecord, LabCreation>, 'family' | 'form' | 'fieldsOf'>

export class LabStore extends OperationStore<LabRecord, LabCreation> {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(options: LabStoreOptions) {
    const fieldsOf = ({ provisions }: LabCreation) => ['pod', '0', 'provisions', provisions ? '1' : '']
    super({ ...options, family: options.keys, form: labForm, fieldsOf })
    this.#connection = options.connection
    this.#keys = options.keys
  }

  /** Whether the init container has once succeeded for a user, as far as this Redis knows. */
  async provisioned(user: string): Promise<boolean> {
    return (await this.#connection.read('sismember', redis => redis.sismember(this.#keys.provisioned, user))) === 1
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
