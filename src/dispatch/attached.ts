/**
 * The keeper's side of a channel to a runner. It checks all that the machine says, and ends the channel at the first line that is
 * no word of the protocol. It keeps nothing: entries that were not acknowledged come again on the next channel.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import { readHeard } from './heard.ts'
import { Lines, tooLong } from './lines.ts'
import {
  type FromRunner,
  type Listed,
  longestLineBytes,
  mostRuns,
  type Refusal,
  type ToRunner,
  type Warrant,
} from './protocol.ts'

type Said<T extends FromRunner['type']> = Extract<FromRunner, { readonly type: T }>

export type PastEnd = NonNullable<Said<'refused'>['end']>

/** The runner refused, and did nothing. */
export class RefusedByRunner extends Error {
  override readonly name = 'RefusedByRunner'
  readonly why: Refusal
  /** The highest epoch, or for `run` the highest run. Undefined when it came without the machine's secret. */
  readonly highest: number | undefined
  /** How this very run ended there, for `run`. */
  readonly end: PastEnd | undefined

  constructor(why: Refusal, message: string, highest: number | undefined, end?: PastEnd) {
    super(`the runner refused (${why}): ${message}`)
    this.why = why
    this.highest = highest
    this.end = end
  }
}

/** The channel was closed, or the runner did not answer in time. It may have done what was asked, or may do it yet. */
export class UnansweredByRunner extends Error {
  override readonly name = 'UnansweredByRunner'
}

export interface AttachedOptions {
  /** The streams of `skylab runner attach`. */
  readonly stream: Duplex
  readonly clock: Clock
  /** The machine's. A refusal without it says nothing of epochs and runs. */
  readonly secret: string
  /** For an answer. A start may take 20 s on a busy machine. */
  readonly answerMs?: number
  /**
   * Entries come in order for each run, from the one after the last acknowledged. One may come again: acknowledge it again. The
   * next one waits for a returned promise, as do answers: it must not wait for one.
   */
  readonly onEntry: (told: Said<'entry'>) => void | Promise<void>
  readonly onBeat: (beat: Said<'beat'>) => void
  /** Called once. `error`: why, unless `close` was called or the machine closed the channel. */
  readonly onClosed: (error: Error | undefined) => void
}

export interface MachineRuns {
  readonly runs: readonly Listed[]
  readonly broken: string | undefined
}

interface Waiting {
  readonly type: 'welcome' | 'listed' | 'started' | 'killing'
  readonly resolve: (answer: FromRunner) => void
  readonly reject: (error: Error) => void
}

const usualAnswerMs = 30_000
/** Bytes of acknowledgements that a machine may leave unread. */
const mostUnread = 1024 * 1024
/** Bytes of one list: a machine has few runs at once, and each has its specification. */
const mostListed = 8 * 1024 * 1024
/** The id of `hello`, which carries none. */
const helloId = 0

export class Attached {
  readonly #options: AttachedOptions
  readonly #waiting = new Map<number, Waiting>()
  /** The parts of lists that are not complete. */
  readonly #lists = new Map<number, Listed[]>()
  #lastId = helloId
  #isClosed = false
  #listedBytes = 0

  constructor(options: AttachedOptions) {
    this.#options = options
    const { stream } = options
    // A stream that fails also ends the loop.
    stream.on('error', () => {})
    void this.#listen().then(
      () => this.#close(undefined),
      error => this.#close(error as Error),
    )
  }

  /** To be asked first. @throws RefusedByRunner when a higher epoch was there */
  async hello(epoch: number): Promise<Pick<Said<'welcome'>, 'version' | 'highestRun'>> {
    const { version, highestRun } = (await this.#ask('welcome', { type: 'hello', epoch }, helloId)) as Said<'welcome'>
    return { version, highestRun }
  }

  /** All runs that are not acknowledged to their end. A run that it lacks does not run, and no older start can begin it. */
  async list(): Promise<MachineRuns> {
    const id = this.#nextId()
    const { runs, broken } = (await this.#ask('listed', { type: 'list', id }, id)) as Said<'listed'>
    return { runs, broken }
  }

  /** @returns when the supervisor has it. @throws RefusedByRunner: nothing was done; UnansweredByRunner: ask a list */
  async start(warrant: Warrant, key?: string): Promise<void> {
    const { uuid, run, owner, spec, seal } = warrant
    const id = this.#nextId()
    await this.#ask(
      'started',
      { type: 'start', id, uuid, run, owner, spec, seal, ...(key !== undefined && { key }) },
      id,
    )
  }

  /** @returns when the signal was sent. The end comes as an entry */
  async kill(uuid: string, run: number): Promise<void> {
    const id = this.#nextId()
    await this.#ask('killing', { type: 'kill', id, uuid, run }, id)
  }

  /** Everything up to `seq` is stored. */
  ack(uuid: string, run: number, seq: number): void {
    if (this.#isClosed) return
    if (this.#options.stream.writableLength > mostUnread) this.#close(new Error('the machine reads nothing'))
    else this.#say({ type: 'ack', uuid, run, seq })
  }

  close(): void {
    this.#close(undefined)
  }

  #nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  #say(words: ToRunner): void {
    this.#options.stream.write(`${JSON.stringify(words)}\n`)
  }

  #ask(type: Waiting['type'], words: ToRunner, id: number): Promise<FromRunner> {
    const { clock, answerMs = usualAnswerMs } = this.#options
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new UnansweredByRunner('the channel is closed'))
      const done = () => {
        cancel()
        this.#waiting.delete(id)
        this.#lists.delete(id)
      }
      const fail = (error: Error) => {
        done()
        reject(error)
      }
      const cancel = clock.after(answerMs, () => fail(new UnansweredByRunner(`no answer within ${answerMs} ms`)))
      const answered = (answer: FromRunner) => {
        done()
        resolve(answer)
      }
      this.#waiting.set(id, { type, resolve: answered, reject: fail })
      this.#say(words)
    })
  }

  async #listen(): Promise<void> {
    const lines = new Lines(longestLineBytes)
    for await (const chunk of this.#options.stream)
      for (const line of lines.take(chunk as Buffer)) {
        if (this.#isClosed) return
        const heard = line === tooLong ? undefined : readHeard(line)
        if (!heard) throw new Error('the machine said what is no word of the protocol')
        if (heard.type === 'listed') this.#listedBytes += String(line).length
        if (this.#listedBytes > mostListed) throw new Error('the machine lists too much')
        if (heard.type === 'listed' && !heard.more) this.#listedBytes = 0
        await this.#hear(heard)
      }
  }

  #hear(heard: FromRunner): void | Promise<void> {
    switch (heard.type) {
      case 'entry':
        return this.#options.onEntry(heard)
      case 'beat':
        return this.#options.onBeat(heard)
      case 'refused':
        return this.#refused(heard)
      case 'listed':
        return this.#listed(heard)
      case 'welcome':
        return this.#answered(helloId, heard)
      default:
        return this.#answered(heard.id, heard)
    }
  }

  /** An answer to nothing, or one that came too late, is dropped. */
  #answered(id: number, answer: FromRunner): void {
    const waiting = this.#waiting.get(id)
    if (waiting?.type === answer.type) waiting.resolve(answer)
  }

  #listed(part: Said<'listed'>): void {
    const { id, runs, more } = part
    if (this.#waiting.get(id)?.type !== 'listed') return
    const all = [...(this.#lists.get(id) ?? []), ...runs]
    if (all.length > mostRuns) throw new Error('the machine lists too many runs')
    if (more) this.#lists.set(id, all)
    else this.#answered(id, { ...part, runs: all })
  }

  #refused({ id, why, message, highest, secret, end }: Said<'refused'>): void {
    const isBelieved = this.#options.secret !== '' && isSame(secret, this.#options.secret)
    const error = new RefusedByRunner(why, message, isBelieved ? highest : undefined, end)
    // The end of all acts of this channel.
    if (why === 'epoch') throw error
    this.#waiting.get(id ?? helloId)?.reject(error)
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#options.stream.destroy()
    const reason =
      error instanceof RefusedByRunner ? error : new UnansweredByRunner(error?.message ?? 'the channel was closed')
    for (const { reject } of [...this.#waiting.values()]) reject(reason)
    this.#options.onClosed(error)
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()
const isSame = (a: string, b: string) => timingSafeEqual(digest(a), digest(b))
