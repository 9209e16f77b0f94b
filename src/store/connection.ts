/**
 * The connections to Redis: one for commands, one that listens. A call is sent again at most once, since our commands and
 * reads are safe to repeat. The client's own resending is switched off.
 */
import type { Redis } from 'ioredis'
import { type Clock, notNeeded } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { inFull, reasonOf } from '../base/reasons.ts'
import type { RedisLogin } from '../config/redis-login.ts'
import type { Config } from '../config/schema.ts'
import { Rarely, type RarelyOptions } from '../telemetry/rarely.ts'
import { Link, type LinkOptions, secretsOf, type Trouble } from './link.ts'
import { Demoted, meaningOf } from './replies.ts'
import { callCommand, callLoaded, defineCommands } from './scripts.ts'
import { fieldOf, noCluster } from './server.ts'
import { Troubles } from './troubles.ts'

/** How long a blocking read of the listening connection waits before the server answers with nothing. */
export const listenMs = 1000

export type Arg = string | number
/** Arguments, or a function that makes them for the Redis that they are sent to. */
export type Args = readonly Arg[] | ((identity: string) => readonly Arg[])

export interface ConnectionOptions {
  readonly config: Config['redis']
  readonly login?: RedisLogin | undefined
  readonly clock: Clock
  /** Gets reasons why Redis is not used or refuses commands. Default: nothing is logged. */
  readonly log?: RarelyOptions['log']
  /** For metrics: a command's name, its duration in seconds, and whether it was answered. */
  readonly onCall?: (name: string, seconds: number, answered: boolean) => void
  /** Its user is not allowed to call EVAL, as that of gateways. */
  readonly withoutEval?: boolean | undefined
}

/** One entry of a stream: its id, then names and values of its fields. */
export type Entry = [id: string, fields: string[]]

const silent = { warn: () => {}, info: () => {} }

export class Connection {
  readonly #commands: Link
  readonly #listening: Link
  readonly #clock: Clock
  readonly #onCall: ConnectionOptions['onCall']
  readonly #troubles: Troubles
  readonly #outage: Rarely
  readonly #retryWithinMs: number
  readonly #call: typeof callCommand
  readonly #onMove = new Set<() => void>()
  #identity: string | undefined
  /** The identity of the Redis that was used last. */
  #lastIdentity: string | undefined
  #becomingReady: Promise<boolean> | undefined

  constructor({ clock, onCall, log = silent, withoutEval = false, ...options }: ConnectionOptions) {
    const { commandTimeoutMs } = options.config
    this.#clock = clock
    this.#onCall = onCall
    this.#call = withoutEval ? callLoaded : callCommand
    this.#troubles = new Troubles(clock, log, { secrets: secretsOf(options.config.url, options.login) })
    this.#outage = new Rarely({ clock, log, trouble: 'Redis cannot be used', over: 'Redis can be used again' })
    this.#retryWithinMs = commandTimeoutMs * 0.6
    const linkOptions: LinkOptions = { ...options, clock, onTrouble: trouble => this.#outage.failed(inFull(trouble)) }
    // A command's own time-out does not close the connection, so a half-open one would stay.
    const patience = {
      answerMs: commandTimeoutMs,
      silenceMs: 3 * commandTimeoutMs,
    }
    this.#commands = new Link(linkOptions, patience)
    this.#listening = new Link(linkOptions, { silenceMs: listenMs + 1500 })
    defineCommands(this.commands)
    this.commands.on('ready', () => this.#learn(this.#commands.server?.replicationId))
    this.commands.on('close', () => {
      this.#identity = undefined
    })
    for (const { redis } of [this.#commands, this.#listening]) {
      redis.on('ready', () => {
        if (this.#commands.ready && this.#listening.ready) this.#outage.worked()
      })
    }
  }

  get commands(): Redis {
    return this.#commands.redis
  }

  get listening(): Redis {
    return this.#listening.redis
  }

  /** Begins to connect, and keeps trying for as long as it takes. */
  open(): void {
    for (const link of [this.#commands, this.#listening]) link.open()
  }

  close(): void {
    for (const link of [this.#commands, this.#listening]) link.close()
  }

  connected(): boolean {
    return this.#commands.ready
  }

  /** The reason why Redis is not used; undefined if it is used, or was not tried yet. */
  trouble(): Trouble | undefined {
    if (this.#troubles.cluster) return { words: noCluster, detail: '', final: true }
    return this.#commands.trouble ?? this.#listening.trouble
  }

  /** Calls `listener` whenever commands reach another Redis, or another history, than before. */
  onMove(listener: () => void): () => void {
    this.#onMove.add(listener)
    return () => this.#onMove.delete(listener)
  }

  /**
   * Identifies the Redis process and its history by run id and replication id. A compare of another one's data does not
   * count.
   * @throws {RetryLater} when not connected
   */
  async identity(): Promise<string> {
    return this.#ask(async () => this.#knownIdentity(), 'info')
  }

  /** As `identity`, but reads it anew: a server that was promoted meanwhile has begun another history. */
  async refreshIdentity(): Promise<string> {
    return this.#ask(async () => {
      this.#hearReplication(await this.commands.info('replication'))
      return this.#knownIdentity()
    }, 'info')
  }

  #knownIdentity(): string {
    if (this.#identity === undefined) throw new Error('there is no connection')
    return this.#identity
  }

  /** @throws {Demoted} when the server has become a replica, although it can still be read */
  #hearReplication(info: string): void {
    if (fieldOf(info, 'role') === 'slave') {
      this.#commands.renew()
      throw new Demoted('this Redis has become a replica')
    }
    this.#learn(fieldOf(info, 'master_replid'))
  }

  #learn(replicationId: string | undefined): void {
    const { server } = this.#commands
    if (!server) return
    this.#identity = `${server.runId}-${replicationId}`
    const moved = this.#lastIdentity !== undefined && this.#lastIdentity !== this.#identity
    this.#lastIdentity = this.#identity
    if (moved) for (const listener of this.#onMove) listener()
  }

  /**
   * Calls a command of `commands/`. After a lost reply it is sent again once, with the identity of the Redis that it is
   * then sent to: another Redis must not get arguments made for the first.
   * @throws {RetryLater} when Redis does not answer
   */
  async run(name: string, keys: readonly string[], args: Args): Promise<unknown> {
    if (typeof args !== 'function') return this.#ask(() => this.#call(this.commands, name, keys, args), name)
    return this.#ask(async () => this.#call(this.commands, name, keys, args(this.#knownIdentity())), name)
  }

  /** Calls any read in the same way. */
  async read<T>(name: string, call: (redis: Redis) => Promise<T>): Promise<T> {
    return this.#ask(() => call(this.commands), name)
  }

  /**
   * Reads the newest entry of a stream on the command connection. The same round trip checks that the server is still a
   * master, which reads alone would not show.
   * @throws {RetryLater} when Redis does not answer, or is a replica now
   */
  async newest(key: string): Promise<Entry | undefined> {
    return this.#ask(async () => {
      const answers = await this.commands.pipeline().xrevrange(key, '+', '-', 'COUNT', 1).info('replication').exec()
      const [entries, replication] = (answers ?? []).map(([error, answer]) => {
        if (error) throw error
        return answer
      })
      this.#hearReplication(String(replication))
      return (entries as Entry[])[0]
    }, 'xrevrange')
  }

  /**
   * Renews the older of the two connections if they reach different servers: the newer one shows where the address leads
   * now.
   * @returns true if they reached different servers
   */
  reunite(): boolean {
    const stale = [this.#commands, this.#listening].find((link, i, both) => link.isStaleBeside(both[1 - i]!))
    stale?.renew()
    return stale !== undefined
  }

  /** Renews the listening connection. */
  listenAnew(): void {
    this.#listening.renew()
  }

  /** Notes an error reply to a command that was sent without `run` or `read`. */
  note(error: unknown): void {
    this.#troubles.note(error)
  }

  async #ask<T>(call: () => Promise<T>, name: string): Promise<T> {
    const begun = this.#clock.monotonicMs()
    const elapsed = () => this.#clock.monotonicMs() - begun
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await call()
        this.#onCall?.(name, elapsed() / 1000, true)
        return answer
      } catch (error) {
        this.#onCall?.(name, elapsed() / 1000, false)
        if (error instanceof RetryLater) throw error
        const meaning = meaningOf(error)
        if (meaning === 'defect') throw error
        this.note(error)
        const leftMs = this.#retryWithinMs - elapsed()
        const hopeless = attempt > 1 || leftMs <= 0 || meaning === 'someone' || meaning === 'cluster'
        if (hopeless || !(await this.#ready(leftMs))) throw this.#later(error as Error, meaning)
      }
    }
  }

  /** Uses words that clients may see; Redis' own message is in the log. */
  #later(error: Error, meaning: string | undefined): RetryLater {
    const cluster = meaning === 'cluster' ? noCluster : undefined
    const absence = meaning || this.connected() ? undefined : this.trouble()?.words
    const words = cluster ?? absence ?? reasonOf(error).words
    return new RetryLater(`Redis does not answer: ${words}`, undefined, { cause: error })
  }

  /** True if the connection is ready within `ms`. */
  async #ready(ms: number): Promise<boolean> {
    if (this.connected()) return true
    const done = new AbortController()
    const late = this.#clock.sleep(ms, done.signal).then(
      () => false,
      () => false,
    )
    return Promise.race([this.#nextReady(), late]).finally(() => done.abort(notNeeded))
  }

  /** Shares one listener among all waiting calls, however long Redis is away. */
  #nextReady(): Promise<boolean> {
    this.#becomingReady ??= new Promise<boolean>(resolve => this.commands.once('ready', () => resolve(true))).finally(
      () => {
        this.#becomingReady = undefined
      },
    )
    return this.#becomingReady
  }
}
