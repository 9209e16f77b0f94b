/** The commands of the replica that mirrors Arvados' queue, which holds the lease `Keys.dispatch.mirrorLease`. */
import { RetryLater } from '../../base/errors.ts'
import { sealedName } from '../../base/subject.ts'
import type { ContainerState } from '../../dispatch/container.ts'
import type { Mirrored, Ours } from '../../dispatch/mirrored.ts'
import type { Connection } from '../connection.ts'
import { containerKind } from '../dispatch-keys.ts'
import type { Keys } from '../keys.ts'
import { counterAhead } from '../operations.ts'
import type { SealingKeys } from '../sealing.ts'
import type { NewContainer } from './container-words.ts'
import { uuidOf } from './containers.ts'
import { encodeShape, groupOf, wellFormed } from './forms.ts'
import { comparing } from './machines.ts'

export interface MirrorStoreOptions {
  readonly connection: Pick<Connection, 'run' | 'read'>
  readonly keys: Keys
  readonly sealing: SealingKeys
  /** The first part of our uuids. */
  readonly clusterId: string
  /** The most bytes of the records of all containers that wait or run. */
  readonly activeBytes: number
}

/** `unsure`: machines were not asked yet that may run it. `sealed`: other replicas seal with a key that is not ours. */
export type MirrorAnswer =
  | { readonly answer: 'mirrored' | 'known'; readonly uuid: string }
  | { readonly answer: 'full' | 'comparing' | 'unsure' | 'sealed' }

export interface MirrorReading {
  readonly mirrored: readonly Mirrored[]
  /** While machines were not asked what they run, an absence here means nothing. */
  readonly unasked: number
  readonly nowMs: number
}

/** Containers that are read by one command. */
const batch = 250
/** A rotation names a key once, so two tries are enough. */
const sealingTries = 3
const mostInAll = 100_000
/** An overload matters for a minute. */
const overloadMs = 600_000

type Answer = [string, ...unknown[]]

export class MirrorStore {
  readonly #options: MirrorStoreOptions

  constructor(options: MirrorStoreOptions) {
    this.#options = options
  }

  /** @returns null while comparing. @throws {RetryLater} if another replica has the lease */
  async read(token: string): Promise<MirrorReading | null> {
    const { connection, keys } = this.#options
    const entries = await connection.read('hgetall', redis => redis.hgetall(keys.dispatch.mirrored))
    const all = Object.entries(entries).map(([theirs, entry]) => [theirs, ...entry.split(' ')] as const)
    const mirrored: Mirrored[] = []
    let [unasked, nowMs] = [0, 0]
    for (let from = 0; from < Math.max(1, all.length); from += batch) {
      const part = all.slice(from, from + batch)
      const [word, some, now, ...found] = await this.#ask(
        'read-mirrored',
        [keys.dispatch.mirrorLease],
        [token, ...part.map(([, uuid]) => uuid!)],
      )
      if (word !== 'read') return null
      ;[unasked, nowMs] = [Math.max(unasked, Number(some)), Number(now)]
      part.forEach(([theirs, uuid, back], i) => {
        mirrored.push({ theirs, uuid: uuid!, back: back === 'back', ours: parseOurs(found[i] as Flat) })
      })
    }
    return { mirrored, unasked, nowMs }
  }

  /** @throws {RetryLater} unless the token holds the lease now, and while comparing */
  async check(token: string): Promise<void> {
    const [word] = await this.#ask('read-mirrored', [this.#options.keys.dispatch.mirrorLease], [token])
    if (word !== 'read') throw new RetryLater(comparing)
  }

  /**
   * Accepts a container under the lease's token. Sent again, it is `known`.
   * @throws {RetryLater} when no op can be drawn, or if another replica has the lease
   */
  async mirror(
    token: string,
    theirs: string,
    container: Pick<NewContainer, 'view' | 'shape' | 'priority' | 'sealSpec'>,
  ): Promise<MirrorAnswer> {
    for (let tries = 0; tries < sealingTries; tries += 1) {
      const answer = await this.#tryMirror(token, theirs, container)
      if (answer) return answer
    }
    throw new RetryLater('the key that plans are sealed with keeps changing')
  }

  async #tryMirror(
    token: string,
    theirs: string,
    { view, shape, priority, sealSpec }: Pick<NewContainer, 'view' | 'shape' | 'priority' | 'sealSpec'>,
  ): Promise<MirrorAnswer | null> {
    const { keys, sealing, clusterId, activeBytes } = this.#options
    const { mirrorLease, mirrored } = keys.dispatch
    const [drawn, first, keyId] = await this.#ask('draw-ops', [keys.last, keys.sealing], [1, sealing.ids])
    if (drawn === 'ahead') throw new RetryLater(counterAhead)
    if (drawn !== 'drawn') return { answer: drawn as 'comparing' | 'sealed' }
    const uuid = uuidOf(clusterId, Number(first))
    const shapeText = encodeShape(shape)
    const [answer, known] = await this.#ask(
      'mirror-container',
      [mirrorLease, keys.sealing, mirrored],
      [
        ...[token, theirs, uuid, String(first), view.owner],
        ...[String(keyId), sealing.ids, sealing.keepMs, mostInAll, activeBytes, wellFormed({ uuid, ...view })],
        sealSpec(String(keyId), sealedName({ kind: containerKind, name: uuid }), uuid),
        ...[groupOf(shapeText), shapeText, priority],
      ],
    )
    if (answer === 'reseal') return null
    if (answer === 'mirrored' || answer === 'known') return { answer, uuid: String(known) }
    return { answer: answer as 'full' }
  }

  /**
   * `found`: a record of ours names it, and nothing is remembered. `back`: takes one that waits out of the queue, to be given
   * back. `forget`: of one that has ended here.
   * @returns false if it is not so any more, or while comparing. @throws {RetryLater} if another replica has the lease
   */
  async settle(token: string, theirs: string, uuid: string, what: 'found' | 'back' | 'forget'): Promise<boolean> {
    const { mirrorLease, mirrored } = this.#options.keys.dispatch
    const [answer] = await this.#ask('settle-mirrored', [mirrorLease, mirrored], [token, theirs, uuid, what])
    return answer === 'done'
  }

  /** Arvados has too much to do with the containers that run: the scheduler of any replica sees it. */
  async noteOverload(): Promise<void> {
    await this.#options.connection.run('note-overload', [this.#options.keys.dispatch.overload], [overloadMs])
  }

  /** Redis' clock at the last overload; 0 without one. */
  async overloadedMs(): Promise<number> {
    const { connection, keys } = this.#options
    return Number((await connection.read('get', redis => redis.get(keys.dispatch.overload))) ?? 0)
  }

  async #ask(name: string, keys: readonly string[], args: readonly (string | number)[]): Promise<Answer> {
    const all = [this.#options.keys.dispatch.generation, ...keys]
    const answer = (await this.#options.connection.run(name, all, identity => [identity, ...args])) as Answer
    if (answer[0] === 'lost') throw new RetryLater('another replica mirrors Arvados now')
    return answer
  }
}

type Flat = readonly (string | null)[] | null

function parseOurs(flat: Flat): Ours | null {
  if (!flat) return null
  const [waits, state, ...rest] = flat
  const [priority, attempts, startedMs, finishedMs, exitCode, trouble, price, cancelled] = rest.map(
    value => value ?? '',
  )
  return {
    ...{ waits: waits === '1', state: state as ContainerState, priority: Number(priority), attempts: Number(attempts) },
    ...{ startedMs: Number(startedMs), finishedMs: Number(finishedMs), trouble: trouble ?? '' },
    exitCode: exitCode ? Number(exitCode) : undefined,
    pricePerHour: Number(price),
    cancelling: cancelled !== '',
  }
}
