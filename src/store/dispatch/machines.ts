/** The commands of those who look at machines, of operators, and of the compare with the cloud. */
import type { MachineBrief } from '../../dispatch/container.ts'
import type { Mark } from '../compares.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'

/** A machine of our set that no record has. */
export interface StrayMachine {
  /** The cloud's id. */
  readonly instance: string
  /** Its tag `Intent`, '' without one. Whatever is not the name of a machine counts for nothing. */
  readonly intent: string
  readonly type: string
  readonly providerType: string
  readonly price: number
  readonly tenant: string
  readonly address: string
  readonly idleBehavior: MachineBrief['idleBehavior']
  /** The host key that was pinned in a tag; '' without one. */
  readonly hostKey: string
  readonly timeoutMs: number
  /** As `NewContainer.sealSpec`, for the plan of its operation. */
  readonly sealPlan: (keyId: string, sealedName: string, nonce: string) => string
}

/** `known`: a record has it. `late`: its intent is over, so that it ends at once. */
export type Adopted =
  | { readonly answer: 'adopted' | 'known' | 'late'; readonly name: string }
  | { readonly answer: 'unmarked' | 'sealed' }

export interface MachineStoreOptions {
  readonly connection: Pick<Connection, 'run' | 'read'>
  readonly keys: Keys
  /** The sealing keys of this replica (`Sealer.ids`). */
  readonly sealing: { readonly ids: string; readonly keepMs: number }
}

export class MachineStore {
  readonly #options: MachineStoreOptions

  constructor(options: MachineStoreOptions) {
    this.#options = options
  }

  /** All machines that are not gone by proof. @throws {RetryLater} when Redis does not answer, or while comparing */
  async list(): Promise<MachineBrief[]> {
    throw new Error(`not written: ${this.#options.sealing.ids}`)
  }

  /** @param id the name of its record, or the cloud's id */
  async find(_id: string): Promise<MachineBrief | undefined> {
    throw new Error('not written')
  }

  /**
   * What a machine does when it is idle. With `hold` or `drain`, a container that it was not asked to run yet waits again.
   * @returns the machine as it is now; `ending`: it is ending, which is never taken back
   */
  async setBehavior(
    _id: string,
    _behavior: MachineBrief['idleBehavior'],
  ): Promise<{ readonly answer: 'set' | 'ending'; readonly machine: MachineBrief } | { readonly answer: 'none' }> {
    throw new Error('not written')
  }

  /** Ends a machine, whatever it does and whatever holds it. */
  async kill(
    _id: string,
    _reason: string,
  ): Promise<{ readonly answer: 'set' | 'ending'; readonly machine: MachineBrief } | { readonly answer: 'none' }> {
    throw new Error('not written')
  }

  /**
   * Adopts a machine that no record has: a second machine of one intent too, which gets a record of its own.
   * @param by the mark of a compare in progress, or the lease of the sweep
   */
  async adopt(_stray: StrayMachine, _by: Mark | { readonly sweep: string }): Promise<Adopted> {
    throw new Error('not written')
  }

  /**
   * In a compare that is needed, before its end: each machine is unknown until it was asked what it runs. Until then containers
   * up to the last op found are not assigned, and an unknown uuid proves nothing.
   * @returns false if the mark is gone
   */
  async doubt(_mark: Mark): Promise<boolean> {
    throw new Error('not written')
  }

  /** Names of machines that were not asked what they run, since the compare. */
  async unasked(): Promise<string[]> {
    throw new Error('not written')
  }

  /** Whether the data of this Redis were compared with the cloud. Does not wait for a compare. */
  async compared(): Promise<boolean> {
    throw new Error('not written')
  }
}
