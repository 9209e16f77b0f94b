/** The commands of keepers: owners of a machine's operation. Each write is fenced by (op, token). */
import { Fenced, RetryLater } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { ContainerView, MachineBrief } from '../../dispatch/container.ts'
import type { Entry, RunEnd } from '../../dispatch/protocol.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import type { Ownership } from '../owners.ts'
import { encodeShape, groupOf, parseMachine, parseShape, type Shape, wellFormed } from './forms.ts'

/** Fields of a machine's record beside those of its operation. */
export interface MachineFacts {
  /** As it was pinned; '' before. */
  readonly hostKey: string
  /** The hash of the runner that stands there; '' before. */
  readonly runnerHash: string
  /** When its boot probe succeeded; 0 before. */
  readonly bootedMs: number
  /** When it showed the right secret, with the present host key; 0 before. */
  readonly secretMs: number
  /** Where the cloud was asked for it last, such as a subnet; '' before. Stored before the call. */
  readonly place: string
  /** Since when the cloud says that it has no such machine, by Redis' clock; 0 while it shows it. */
  readonly missingSinceMs: number
}

export interface MachineRead {
  readonly brief: MachineBrief
  readonly facts: MachineFacts
  /** Why its container is to be killed; '' if it is not. */
  readonly cancelled: string
  /** Redis' clock */
  readonly nowMs: number
}

/** What a keeper may change. */
export interface MachineChanges extends Partial<Omit<MachineFacts, 'missingSinceMs'>> {
  /** Whether the cloud says now that it has no such machine: the first time is kept until it shows it again. */
  readonly missing?: boolean
  /** The cloud's id. */
  readonly instance?: string
  readonly address?: string
  /** Of one that ends, nothing but `shutdown` is kept; of one with a container that was sent, `idle` is `running`. */
  readonly state?: Exclude<MachineBrief['state'], 'creating'>
  /** A probe succeeded now. */
  readonly probed?: true
  readonly broken?: string
  /** Why it ends. Never taken back, and kept from the first one. Not while it is on hold, unless the cloud has no machine. */
  readonly ending?: string
  /** After a signal that ends it. */
  readonly idleBehavior?: 'drain'
  /** It was asked what it runs, and all of that is in the records. */
  readonly asked?: true
}

export type Kept =
  /** `held`: it is on hold, so that `ending` was not kept; all else was. */
  | { readonly answer: 'kept' | 'held'; readonly brief: MachineBrief }
  /** Another machine's record has this id of the cloud: nothing was kept. */
  | { readonly answer: 'taken' }

/** What may be sent to the runner. `run` is the same when it is asked again. */
export interface Sending {
  readonly answer: 'send'
  readonly run: number
  readonly owner: string
  readonly view: ContainerView
  readonly shape: Shape
  readonly priority: number
  /** Opens by `sealer.open(sealedSpec, sealedName, uuid)`, as `NewContainer.sealSpec` has sealed it. */
  readonly sealedSpec: string
}

/**
 * Why nothing is sent. `wait`: machines were not asked yet that may run it. `changed`: it is not its container any more.
 * `cancelled`: it was sent before, and is not to begin: only proof ends it.
 */
export interface NotSent {
  readonly answer: 'wait' | 'changed' | 'hold' | 'drain' | 'ending' | 'broken' | 'cancelled'
}

/** What the runner says of a run. Its times are bounded by Redis' clock. */
export type Told =
  | { readonly what: 'running'; readonly atMs: number; readonly gatewayAddress: string }
  | ({ readonly what: 'ended'; readonly atMs: number } & RunEnd)
  /**
   * Proof that the machine does not run it, and cannot any more under this run: a kill under the present epoch was answered, which
   * bars the run. That a list lacks it proves nothing, since a start may be on its way.
   */
  | { readonly what: 'lacks'; readonly why?: string }

/** A run that a machine has, whose warrant is ours. */
export interface FoundRun {
  readonly uuid: string
  readonly run: number
  /** As the warrant allows to say. */
  readonly view: ContainerView
  readonly shape: Shape
  readonly priority: number
  readonly sealedSpec: string
  /** Whether it has begun. */
  readonly running: boolean
  readonly startedMs: number
  /** Of a run that has ended there: it is written at once, and takes no machine. */
  readonly end?: RunEnd & { readonly atMs: number }
}

/**
 * `adopted`, `known`: it is this machine's. `other`: a higher run is elsewhere, or it is over: to be killed, and never told.
 * `busy`: the record has another one that was sent here. What has ended there, and what is lacking, is told first, so that what
 * runs there in truth is adopted then: it is never to be killed for that.
 * `ahead`: no number of ours, since it is more than a day beyond our clock.
 */
export type FoundAnswer = 'adopted' | 'known' | 'other' | 'busy' | 'ahead'

export interface KeepingStoreOptions {
  readonly connection: Pick<Connection, 'run'>
  readonly keys: Keys
  /** From the configuration. */
  readonly maxDispatchAttempts: number
}

/** Bytes of output that are kept of a container: the first, about, and the last. */
const [headBytes, tailBytes] = [64 * 1024, 2 ** 20]
/** Of one piece, and of pieces that are written at once. */
const [pieceBytes, pieces] = [16 * 1024, 200]

const gone = 'its machine is gone'

/** Its operation is this owner's, and only has to end. */
export class MachineGone extends Fenced {}

export class KeepingStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys
  readonly #mostAttempts: number

  constructor({ connection, keys, maxDispatchAttempts }: KeepingStoreOptions) {
    this.#connection = connection
    this.#keys = keys
    this.#mostAttempts = maxDispatchAttempts
  }

  /** @throws {Fenced} when no longer the owner; {MachineGone} when the machine is gone by proof */
  async read(by: Ownership): Promise<MachineRead> {
    const answer = await this.#call('read-machine', by, [])
    if (answer[0] === 'gone') throw new MachineGone('the machine is gone by proof')
    const [, nowMs, brief, cancelled, ...facts] = answer as string[]
    const [hostKey, runnerHash, place, ...times] = facts
    const [bootedMs, secretMs, missingSinceMs] = times.map(Number)
    return {
      brief: parseMachine(brief!),
      facts: {
        ...{ hostKey: hostKey!, runnerHash: runnerHash!, place: place! },
        ...{ bootedMs: bootedMs!, secretMs: secretMs!, missingSinceMs: missingSinceMs! },
      },
      cancelled: cancelled!,
      nowMs: Number(nowMs),
    }
  }

  /** @throws {Fenced} when no longer the owner, or the machine is gone by proof */
  async keep(by: Ownership, changes: MachineChanges): Promise<Kept> {
    const { bootedMs, secretMs } = changes
    const texts = {
      bootedMs: bootedMs === undefined ? bootedMs : whole(bootedMs),
      secretMs: secretMs === undefined ? secretMs : whole(secretMs),
    }
    const [answer, brief] = await this.#call('keep-machine', by, [wellFormed({ ...changes, ...texts })])
    if (answer === 'taken') return { answer }
    return { answer: answer as 'kept' | 'held', brief: parseMachine(String(brief)) }
  }

  /**
   * Writes that a machine is asked to run its container: from here on only proof frees it. To be called before anything is sent.
   * @throws {Fenced} when no longer the owner
   * @throws {RetryLater} when no run can be drawn
   */
  async send(by: Ownership, uuid: string): Promise<Sending | NotSent> {
    const [answer, run, owner, view, sealedSpec, shape, priority] = (await this.#call('send-container', by, [
      uuid,
    ])) as string[]
    if (answer === 'ahead') throw new RetryLater(runAhead)
    if (answer !== 'send') return { answer: answer as NotSent['answer'] }
    return {
      answer,
      run: Number(run),
      owner: owner!,
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
   * Keeps entries of a spool, in order. Only output and gaps are kept; told again, they change nothing.
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
    }
    return last
  }

  /**
   * After a loss: writes what a machine runs. The caller has checked the seal of its warrant.
   * @throws {Fenced} when no longer the owner
   */
  async adopt(by: Ownership, found: FoundRun): Promise<FoundAnswer> {
    const { uuid, run, view, shape, priority, sealedSpec, running, startedMs, end } = found
    const op = opOf(uuid)
    if (op === undefined || !Number.isSafeInteger(run)) return 'ahead'
    const shapeText = encodeShape(shape)
    const [answer] = await this.#call('adopt-container', by, [
      ...[uuid, op, view.owner, run, running ? '1' : '', whole(startedMs)],
      ...[wellFormed(view), sealedSpec, groupOf(shapeText), shapeText, priority, view.container_count_max],
      ...[this.#mostAttempts, ...(end ? wordsOf({ what: 'ended', ...end }) : ['', 0, '', ''])],
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
    const answer = (await this.#connection.run(name, keys, [by.name, by.op, by.token, ...args])) as Answer
    if (answer[0] === 'fenced') throw new Fenced(`${name}: the machine has another owner, or is gone`)
    return answer
  }
}

type Answer = [string, ...unknown[]]
type SpoolEntry = readonly [seq: number, entry: Extract<Entry, { kind: 'output' | 'lost' }>]
type Piece = readonly [seq: number, stream: string, base64: string, bytes: number]

export const runAhead =
  'the last run lies more than a day beyond Redis’ clock: the clock is wrong, or the number was poisoned (skylab heal shows it)'

/** Neither fractions nor numbers that are none. */
const whole = (ms: number): string => String(Number.isFinite(ms) ? Math.max(0, Math.trunc(ms)) : 0)

/** @returns undefined if it is no uuid of a container */
function opOf(uuid: string): number | undefined {
  const [, digits] = /^[a-z0-9]+-dz642-([0-9a-z]{15})$/.exec(uuid) ?? []
  const op = digits === undefined ? Number.NaN : Number.parseInt(digits, 36)
  return Number.isSafeInteger(op) ? op : undefined
}

/** Arguments of `tell-container`. What the machine says is checked: it may lie. */
function wordsOf(told: Told): readonly (string | number)[] {
  if (told.what === 'lacks') return ['lacks', 0, '', told.why?.toWellFormed() || 'its machine does not have it']
  if (told.what === 'running') return ['running', whole(told.atMs), told.gatewayAddress.toWellFormed(), '']
  const { atMs, exitCode, reason, timedOut } = told
  const code = Number.isSafeInteger(exitCode) ? String(exitCode) : ''
  const why = (reason ?? '').toWellFormed().slice(0, longestReason) || 'it ended without an exit code'
  return [timedOut ? 'late' : 'ended', whole(atMs), code, why]
}

const longestReason = 1_000
/** What one entry may say that is lost: a machine may lie. */
const mostLost = 2 ** 40

/** Output of one stream in a row becomes one piece, with the place of its last entry. */
function piecesOf(entries: readonly SpoolEntry[], most: number): Piece[] {
  const found: Piece[] = []
  let open: { seq: number; stream: string; parts: Buffer[]; size: number } | undefined
  const close = () => {
    if (open) found.push([open.seq, open.stream, Buffer.concat(open.parts).toString('base64'), open.size])
    open = undefined
  }
  for (const [seq, entry] of entries) {
    if (!Number.isSafeInteger(seq)) continue
    if (entry.kind === 'lost') {
      close()
      found.push([seq, '', '', Math.min(mostLost, Math.max(0, Math.trunc(entry.bytes) || 0))])
      continue
    }
    const stream = entry.stream === 'stderr' ? 'stderr' : 'stdout'
    const bytes = Buffer.from(entry.base64, 'base64')
    if (open && (open.stream !== stream || open.size + bytes.length > most)) close()
    open ??= { seq, stream, parts: [], size: 0 }
    open.seq = seq
    open.parts.push(bytes)
    open.size += bytes.length
  }
  close()
  return found
}
