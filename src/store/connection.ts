/**
 * The connections to Redis: one for commands, one that listens. Only what is sent through `run` is ever sent again: every
 * command of ours may be, and nothing else is. The client's own habit of resending is switched off.
 */
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import { type Clock, notNeeded } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { NeedsSomeone, RetryLater } from '../errors.ts'
import { callCommand, defineCommands } from './scripts.ts'

/** How long the listening connection may wait for something to be told; the server then answers with nothing. */
export const listenMs = 1000

export type Arg = string | number
/** Arguments, or what makes them for the Redis that they are sent to. */
export type Args = readonly Arg[] | ((identity: string) => readonly Arg[])

export interface ConnectionOptions {
  readonly config: Config['redis']
  readonly password?: string | undefined
  readonly clock: Clock
  readonly onError: (message: string) => void
  /** For metrics: a command's name, how long it took in seconds, whether it was answered. */
  readonly onCall?: (name: string, seconds: number, answered: boolean) => void
}

/** Answers of Redis that may pass: it is loading, another server takes over, its memory or its disk is full. */
const passing = /^(LOADING|READONLY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|UNKILLABLE|BUSY|OOM|MISCONF)/

export class Connection {
  readonly commands: Redis
  readonly listening: Redis
  readonly #clock: Clock
  readonly #onCall: ConnectionOptions['onCall']
  readonly #retryWithinMs: number
  #identity: string | undefined
  #identifying: Promise<string> | undefined
  #becomingReady: Promise<boolean> | undefined

  constructor({ config, password, clock, onError, onCall }: ConnectionOptions) {
    this.#clock = clock
    this.#onCall = onCall
    this.#retryWithinMs = config.commandTimeoutMs * 0.6
    const shared = {
      lazyConnect: true,
      connectTimeout: config.connectTimeoutMs,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      // A server that was demoted keeps its connections: what is asked next goes to whoever the address means by then.
      reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
      retryStrategy: (attempt: number) => Math.min(50 * attempt, 500) * (0.75 + Math.random() / 2),
      ...(password !== undefined && { password }),
    } satisfies RedisOptions
    this.commands = new Redis(config.url, {
      ...shared,
      commandTimeout: config.commandTimeoutMs,
      // A command's own time-out leaves the connection as it is: half open, it would stay so.
      socketTimeout: 3 * config.commandTimeoutMs,
    })
    this.listening = new Redis(config.url, { ...shared, socketTimeout: listenMs + 1500 })
    defineCommands(this.commands)
    for (const client of [this.commands, this.listening]) client.on('error', error => onError(error.message))
    this.commands.on('close', () => {
      this.#identity = undefined
    })
  }

  /** Begins to connect, and goes on trying for as long as it takes. */
  open(): void {
    for (const client of [this.commands, this.listening]) client.connect().catch(() => {})
  }

  close(): void {
    for (const client of [this.commands, this.listening]) client.disconnect()
  }

  connected(): boolean {
    return this.commands.status === 'ready'
  }

  /**
   * Which Redis process, with which history, this connection reaches: its run and replication ids. Data that were
   * compared in another one are not to be believed.
   * @throws {RetryLater} not connected
   */
  async identity(): Promise<string> {
    return this.#ask(() => this.#knownIdentity(), 'info')
  }

  /** As `identity`, asked anew: a server that was promoted meanwhile has begun another history. */
  async refreshIdentity(): Promise<string> {
    this.#identity = undefined
    return this.identity()
  }

  async #knownIdentity(): Promise<string> {
    if (this.#identity !== undefined) return this.#identity
    this.#identifying ??= this.commands
      .info('server', 'replication')
      .then(info => {
        const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(String(info))?.[1]
        this.#identity = `${field('run_id')}-${field('master_replid')}`
        return this.#identity
      })
      .finally(() => {
        this.#identifying = undefined
      })
    return this.#identifying
  }

  /**
   * Calls a command of `commands/`. One lost reply is made up for by sending it again, with the identity of the Redis
   * that it is sent to then: another one must not take the word of the first.
   * @throws {RetryLater} Redis does not answer
   */
  async run(name: string, keys: readonly string[], args: Args): Promise<unknown> {
    if (typeof args !== 'function') return this.#ask(() => callCommand(this.commands, name, keys, args), name)
    return this.#ask(async () => callCommand(this.commands, name, keys, args(await this.#knownIdentity())), name)
  }

  /** Any read, with the same care. */
  async read<T>(name: string, call: (redis: Redis) => Promise<T>): Promise<T> {
    return this.#ask(() => call(this.commands), name)
  }

  /**
   * Refuses a Redis that would throw away what it must keep.
   * @throws {NeedsSomeone} in words for the operator
   */
  async requireNoEviction(): Promise<void> {
    const policy = /^maxmemory_policy:(\S+)/m.exec(await this.#ask(() => this.commands.info('memory'), 'info'))?.[1]
    if (policy !== undefined && policy !== 'noeviction') {
      throw new NeedsSomeone(`Redis has maxmemory-policy ${policy}: it must be noeviction, or labs would be forgotten`)
    }
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
        const replied = error instanceof ReplyError
        if (replied && !passing.test((error as Error).message)) throw error
        const leftMs = this.#retryWithinMs - elapsed()
        if (attempt > 1 || leftMs <= 0 || !(await this.#ready(leftMs))) {
          throw new RetryLater(`Redis does not answer: ${(error as Error).message}`, undefined, { cause: error })
        }
      }
    }
  }

  /** Whether the connection is there again within `ms`. */
  async #ready(ms: number): Promise<boolean> {
    if (this.connected()) return true
    const done = new AbortController()
    const late = this.#clock.sleep(ms, done.signal).then(
      () => false,
      () => false,
    )
    return Promise.race([this.#nextReady(), late]).finally(() => done.abort(notNeeded))
  }

  /** One listener for all who wait, however long Redis is away. */
  #nextReady(): Promise<boolean> {
    this.#becomingReady ??= new Promise<boolean>(resolve => this.commands.once('ready', () => resolve(true))).finally(
      () => {
        this.#becomingReady = undefined
      },
    )
    return this.#becomingReady
  }
}
