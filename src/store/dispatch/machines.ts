/** The commands of those who look at machines, of operators, and of the compare with the cloud. */
import { RetryLater } from '../../base/errors.ts'
import { sealedName } from '../../base/subject.ts'
import type { MachineBrief } from '../../dispatch/container.ts'
import { type Mark, onlyIn } from '../compares.ts'
import type { Connection } from '../connection.ts'
import { machineKind } from '../dispatch-keys.ts'
import type { Keys } from '../keys.ts'
import { counterAhead } from '../operations.ts'
import type { SealingKeys } from '../sealing.ts'
import { machineOp, newMachine, parseMachine, wellFormed } from './forms.ts'

/** A machine of our set that no record has. */
export interface StrayMachine {
  /** The cloud's id. */
  readonly instance: string
  /** Its tag `Intent`, '' without one. A value that is not the name of a machine counts for nothing. */
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
  /** As `NewContainer.sealSpec`, for the plan of its operation. The nonce is the cloud's id. */
  readonly sealPlan: (keyId: string, sealedName: string, nonce: string) => string
}

/** `known`: a record has it. `late`: its intent is over, so that it ends at once. */
export type Adopted =
  | { readonly answer: 'adopted' | 'known' | 'late'; readonly name: string }
  | { readonly answer: 'unmarked' | 'sealed' }

export interface MachineStoreOptions {
  readonly connection: Pick<Connection, 'run' | 'read' | 'identity'>
  readonly keys: Keys
  readonly sealing: SealingKeys
}

/** Machines that are read, or marked, by one command. */
const batch = 200
/** A rotation names a key once, so two tries are enough. */
const sealingTries = 3

/** `ending`: it is ending, which is never taken back. */
export type BehaviorSet =
  | { readonly answer: 'set' | 'ending'; readonly machine: MachineBrief }
  | { readonly answer: 'none' }

export class MachineStore {
  readonly #connection: MachineStoreOptions['connection']
  readonly #keys: Keys
  readonly #sealing: SealingKeys

  constructor({ connection, keys, sealing }: MachineStoreOptions) {
    this.#connection = connection
    this.#keys = keys
    this.#sealing = sealing
  }

  /** All machines that are not gone by proof, also while comparing. @throws {RetryLater} when Redis does not answer */
  async list(): Promise<MachineBrief[]> {
    const { briefs } = this.#keys.dispatch
    const names = await this.#connection.read('hkeys', redis => redis.hkeys(briefs))
    const found: MachineBrief[] = []
    for (let from = 0; from < names.length; from += batch) {
      const some = names.slice(from, from + batch)
      const texts = await this.#connection.read('hmget', redis => redis.hmget(briefs, ...some))
      for (const json of texts) if (json !== null) found.push(parseMachine(json))
    }
    return found
  }

  /** @param id the name of its record, or the cloud's id */
  async find(id: string): Promise<MachineBrief | undefined> {
    const { briefs, ids } = this.#keys.dispatch
    const name = (await this.#connection.read('hget', redis => redis.hget(ids, id))) ?? id
    const json = await this.#connection.read('hget', redis => redis.hget(briefs, name))
    return json === null ? undefined : parseMachine(json)
  }

  /**
   * Sets what a machine does when it is idle. With `hold` or `drain`, a container that it was not asked to run yet waits again.
   * @returns the machine as it is now
   * @throws {RetryLater} while comparing
   */
  async setBehavior(id: string, behavior: MachineBrief['idleBehavior']): Promise<BehaviorSet> {
    return this.#set(id, behavior, '')
  }

  /** Ends a machine, whatever it does and whatever holds it. @throws {RetryLater} while comparing */
  async kill(id: string, reason: string): Promise<BehaviorSet> {
    return this.#set(id, 'kill', reason.toWellFormed() || 'an operator ends it')
  }

  async #set(id: string, what: string, reason: string): Promise<BehaviorSet> {
    const keys = [this.#keys.dispatch.generation]
    const args = (identity: string) => [identity, id, what, reason]
    const [answer, brief] = (await this.#connection.run('set-behavior', keys, args)) as [string, string]
    if (answer === 'comparing') throw new RetryLater(comparing)
    if (answer === 'none') return { answer }
    return { answer: answer as 'set' | 'ending', machine: parseMachine(brief) }
  }

  /**
   * Adopts a machine that no record has: a second machine of one intent too, which gets a record of its own.
   * @param by the mark of a compare in progress, or the token of the sweep's lease
   * @throws {RetryLater} when no op can be drawn
   */
  async adopt(stray: StrayMachine, by: Mark | { readonly sweep: string }): Promise<Adopted> {
    let keyId = this.#sealing.ids.split(' ')[0]!
    for (let tries = 0; tries < sealingTries; tries += 1) {
      const [answer, detail] = await this.#tryAdopt(stray, by, keyId)
      if (answer === 'unmarked' || answer === 'sealed') return { answer }
      if (answer !== 'reseal') return { answer: answer as 'adopted' | 'known' | 'late', name: detail }
      keyId = detail
    }
    throw new RetryLater('the key that plans are sealed with keeps changing')
  }

  async #tryAdopt(
    stray: StrayMachine,
    by: Mark | { readonly sweep: string },
    keyId: string,
  ): Promise<[string, string]> {
    const { instance, sealPlan, timeoutMs, hostKey, intent, ...rest } = stray
    const k = this.#keys
    const d = k.dispatch
    const [mark, token, of] = 'sweep' in by ? ['', by.sweep, undefined] : [by.value, '', by.identity]
    const spareOp = await this.#drawFor(of)
    const spare = spareOp.toString(36)
    const intentOp = machineOp(intent)
    const seal = (name: string) => sealPlan(keyId, sealedName({ kind: machineKind, name }), instance)
    const args = [
      ...[mark, token, instance],
      ...(intentOp === undefined ? ['', '', ''] : [intent, intentOp, seal(intent)]),
      ...[spare, spareOp, seal(spare), instance],
      wellFormed(newMachine(rest)),
      ...[timeoutMs, hostKey.toWellFormed(), keyId, this.#sealing.ids, this.#sealing.keepMs],
    ]
    return (await this.#connection.run('adopt-instance', [d.generation, d.mark, d.sweepLease, k.sealing], identity => {
      if (of !== undefined && identity !== of) throw new RetryLater('Redis was replaced since the compare began')
      return [identity, ...args]
    })) as [string, string]
  }

  /** Draws an op from the Redis that is compared, or that was. */
  async #drawFor(of: string | undefined): Promise<number> {
    const op = await this.#connection.run('draw-op', [this.#keys.last], identity => {
      if (of !== undefined && identity !== of) throw new RetryLater('Redis was replaced since the compare began')
      return []
    })
    if (op === null) throw new RetryLater(counterAhead)
    return Number(op)
  }

  /**
   * In a compare that is needed, before its end: each machine is unknown until it was asked what it runs. Until then containers
   * up to the last op found are not assigned, and an unknown uuid proves nothing.
   * @returns false if the mark is gone
   */
  async doubt(mark: Mark): Promise<boolean> {
    const names = (await this.list()).map(({ name }) => name)
    for (let from = 0; from < Math.max(1, names.length); from += batch) {
      const args = onlyIn(mark.identity, [mark.value, mark.foundOp, ...names.slice(from, from + batch)])
      const { generation, mark: key } = this.#keys.dispatch
      if ((await this.#connection.run('doubt-machines', [generation, key], args)) !== 1) return false
    }
    return true
  }

  /**
   * Forgets machines whose operation failed and of which nothing is left, a few at once.
   * @param tombstoneMs how long what shows up of them is known to be over
   * @returns how many
   */
  async forget(tombstoneMs: number): Promise<number> {
    const args = (identity: string) => [identity, batch, tombstoneMs]
    const answer = await this.#connection.run('forget-machines', [this.#keys.dispatch.generation], args)
    if (answer === -1) throw new RetryLater(comparing)
    return Number(answer)
  }

  /** Names of machines that were not asked what they run, since the compare. */
  async unasked(): Promise<string[]> {
    return this.#connection.read('hkeys', redis => redis.hkeys(this.#keys.dispatch.unasked))
  }

  /** Whether the data of this Redis were compared with the cloud. Does not wait for a compare. */
  async compared(): Promise<boolean> {
    const identity = await this.#connection.identity()
    const { generation } = this.#keys.dispatch
    return identity === (await this.#connection.read('hget', redis => redis.hget(generation, 'identity')))
  }
}

export const comparing = 'the records are being compared with the cloud'
