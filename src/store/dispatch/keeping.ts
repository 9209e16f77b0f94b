/** The commands of keepers: owners of a machine's operation. Each write is fenced by (op, token). */

import { Fenced, RetryLater } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { ContainerView } from '../../dispatch/container.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import type { Ownership } from '../owners.ts'
import { pairsOf } from '../pairs.ts'
import { encodeShape, groupOf, parseMachine, parseShape, wellFormed } from './forms.ts'
import type {
  FoundAnswer,
  FoundRun,
  Kept,
  MachineChanges,
  MachineRead,
  NotSent,
  Sending,
  Told,
} from './keeping-words.ts'
import { opOf, piecesOf, type SpoolEntry, whole, wordsOf } from './spool.ts'

export type * from './keeping-words.ts'

export interface KeepingStoreOptions {
  readonly connection: Pick<Connection, 'run'>
  readonly keys: Keys
  /** From the configuration. */
  readonly maxDispatchAttempts: number
  readonly maxContainersPerMachine: number
}

/** Bytes of output that are kept of a container: the first, about, and the last. */
const [headBytes, tailBytes] = [64 * 1024, 2 ** 20]
/** Bytes of one piece, and the number of pieces that are written at once. */
const [pieceBytes, pieces] = [16 * 1024, 200]

const gone = 'its machine is gone'

/** Its operation is this owner's, and only has to end. */
export class MachineGone extends Fenced {}

export class KeepingStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys
  readonly #mostAttempts: number
  readonly #mostContainers: number

  constructor({ connection, keys, maxDispatchAttempts, maxContainersPerMachine }: KeepingStoreOptions) {
    this.#connection = connection
    this.#keys = keys
    this.#mostAttempts = maxDispatchAttempts
    this.#mostContainers = maxContainersPerMachine
  }

  /** @throws {Fenced} when no longer the owner; {MachineGone} when the machine is gone by proof */
  async read(by: Ownership): Promise<MachineRead> {
    const answer = await this.#call('read-machine', by, [])
    if (answer[0] === 'gone') throw new MachineGone('the machine is gone by proof')
    const [, nowMs, brief, hostKey, place, missingSinceMs, ...whys] = answer as string[]
    return {
      brief: parseMachine(brief!),
      facts: { hostKey: hostKey!, place: place!, missingSinceMs: Number(missingSinceMs) },
      cancelled: cancelledOf(whys),
      nowMs: Number(nowMs),
    }
  }

  /** @throws {Fenced} when no longer the owner, or the machine is gone by proof */
  async keep(by: Ownership, changes: MachineChanges): Promise<Kept> {
    const [answer, brief] = await this.#call('keep-machine', by, [wellFormed(changes)])
    if (answer === 'taken') return { answer }
    return { answer: answer as 'kept' | 'held', brief: parseMachine(String(brief)) }
  }

  /**
   * Writes that a machine is asked to run a container: from here on only proof frees it. To be called before anything is sent.
   * @throws {Fenced} when no longer the owner
   * @throws {RetryLater} when no run can be drawn
   */
  async send(by: Ownership, uuid: string): Promise<Sending | NotSent> {
    const [answer, run, owner, waited, view, sealedSpec, shape, priority] = (await this.#call('send-container', by, [
      uuid,
    ])) as string[]
    if (answer === 'ahead') throw new RetryLater(runAhead)
    if (answer !== 'send') return { answer: answer as NotSent['answer'] }
    return {
      answer,
      run: Number(run),
      owner: owner!,
      waitedMs: waited === '' ? undefined : Number(waited),
      view: parseJson(view!) as ContainerView,
      shape: parseShape(shape),
      priority: Number(priority),
      sealedSpec: sealedSpec!,
    }
  }

  /**
   * Writes what is known of a run. Told again, it changes nothing.
   * @returns `other`: this run is not this machine's any more
   * @throws {Fenced} when no longer the owner
   */
  async tell(by: Ownership, uuid: string, run: number, told: Told): Promise<'told' | 'other'> {
    const args = [uuid, run, this.#mostAttempts, ...wordsOf(told)]
    const [answer] = await this.#call('tell-container', by, args)
    return answer as 'told' | 'other'
  }

  /**
   * Keeps entries of a spool, in order. Only output and gaps are kept; sent again, they change nothing.
   * @param entries with their place in the spool
   * @returns the last place that is kept; `other` as `tell`
   * @throws {Fenced} when no longer the owner
   */
  async appendLog(by: Ownership, uuid: string, run: number, entries: readonly SpoolEntry[]): Promise<number | 'other'> {
    const list = piecesOf(entries, pieceBytes)
    let last = 0
    for (let from = 0; from < Math.max(1, list.length); from += pieces) {
      const part = list.slice(from, from + pieces)
      const args = [uuid, run, headBytes, tailBytes, JSON.stringify(part)]
      const [answer, seq] = await this.#call('append-log', by, args)
      if (answer === 'other') return answer
      last = Number(seq)
      // Told again over another channel, entries are joined in other pieces than before.
      if (answer === 'torn') {
        const rest = entries.filter(([place]) => place > last)
        return this.appendLog(by, uuid, run, rest)
      }
    }
    return last
  }

  /**
   * After a loss: writes what a machine runs. The caller has checked the seal of its warrant.
   * @param most containers that may share the machine. Default: as many as the configuration says
   * @throws {Fenced} when no longer the owner
   */
  async adopt(by: Ownership, found: FoundRun, most = this.#mostContainers): Promise<FoundAnswer> {
    const { uuid, run, view, shape, priority, sealedSpec, running, startedMs, gateway, end } = found
    const op = opOf(uuid)
    if (op === undefined || !Number.isSafeInteger(run)) return 'ahead'
    const shapeText = encodeShape(shape)
    const [answer] = await this.#call('adopt-container', by, [
      ...[uuid, op, view.owner, run, running ? '1' : '', whole(startedMs)],
      ...[wellFormed(view), sealedSpec, groupOf(shapeText), shapeText, priority, view.container_count_max],
      ...[
        ...[this.#mostAttempts, most],
        ...(end ? wordsOf({ what: 'ended', ...end }) : ['', 0, gateway?.address ?? '', gateway?.pin ?? '']),
      ],
    ])
    return answer as FoundAnswer
  }

  /**
   * Raises the counter of epochs and runs to one that the machine has heard, as it proved by its secret: the next claim draws a
   * higher one.
   * @returns false if nobody can have drawn that: the machine lies
   * @throws {Fenced} when no longer the owner
   */
  async floor(by: Ownership, epoch: number): Promise<boolean> {
    const [answer] = await this.#call('floor-epoch', by, [String(epoch)])
    return answer === 'raised'
  }

  /**
   * The machine is gone by proof: frees its container, and forgets the machine. The operation is to be finished as `gone` then.
   * @throws {Fenced} when no longer the owner
   */
  async gone(by: Ownership): Promise<void> {
    await this.#call('end-machine', by, [this.#mostAttempts, gone])
  }

  /** @throws {Fenced} when no longer the owner */
  async #call(name: string, by: Ownership, args: readonly (string | number)[]): Promise<Answer> {
    const keys = [this.#keys.dispatch.generation]
    const all = (identity: string) => [identity, by.name, by.op, by.token, ...args]
    const answer = (await this.#connection.run(name, keys, all)) as Answer
    // A claim that came back with older data would go on as if nothing had happened since.
    if (answer[0] === 'comparing') throw new RetryLater('the records are being compared with the cloud')
    if (answer[0] === 'fenced') throw new Fenced(`${name}: the machine has another owner, or is gone`)
    return answer
  }
}

/** @param flat uuid and reason in turns */
const cancelledOf = (flat: readonly string[]): ReadonlyMap<string, string> =>
  new Map(pairsOf(flat).filter(([, why]) => why !== ''))

type Answer = [string, ...unknown[]]

export const runAhead =
  'the last run lies more than a day beyond Redis’ clock: the clock is wrong, or the number was poisoned (skylab heal shows it)'
