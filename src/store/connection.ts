/**
 * The connections to Redis: one for commands, one that listens. Only what is sent through `run` is ever sent again: every
 * command of ours may be, and nothing else is. The client's own habit of resending is switched off.
 */
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { NeedsSomeone, RetryLater } from '../errors.ts'
import { callCommand, defineCommands } from './scripts.ts'

export interface ConnectionOptions {
  readonly config: Config['redis']
  readonly password?: string | undefined
  readonly clock: Clock
  readonly onError: (message: string) => void
  /** For metrics: a command's name, how long it took in seconds, whether it was answered. */
  readonly onCall?: (name: string, seconds: number, answered: boolean) => void
}

/** Answers of Redis that pass by themselves: it is loading, or another server is taking over. */
const passing = /^(LOADING|READONLY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|UNKILLABLE|BUSY)/

export class Connection {
  readonly commands: Redis
  readonly listening: Redis
  readonly #clock: Clock
  readonly #onCall: ConnectionOptions['onCall']
  readonly #retryWithinMs: number
  #identity: string | undefined
  #identifying: Promise<string> | undefined

  constructor({ config, password, clock, onError, onCall }: ConnectionOptions) {
    this.#clock = clock
    this.#onCall = onCall
    this.#retryWithinMs = config.commandTimeoutMs * 0.6
    const shared = {
      lazyConnect: true,
      connectTimeout: config.connectTimeoutMs,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      retryStrategy: (attempt: number) => Math.min(50 * attempt, 500) * (0.75 + Math.random() / 2),
      ...(password !== undefined && { password }),
    } satisfies RedisOptions
    this.commands = new Redis(config.url, {
      ...shared,
      maxRetriesPerRequest: 0,
      commandTimeout: config.commandTimeoutMs,
    })
    this.listening = new Redis(config.url, { ...shared, maxRetriesPerRequest: null })
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
    return this.#identity ?? this.refreshIdentity()
  }

  /** As `identity`, asked anew: a server that was promoted meanwhile has begun another history. */
  async refreshIdentity(): Promise<string> {
    this.#identifying ??= this.#ask(() => this.commands.info('server', 'replication'), 'info')
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
   * Calls a command of `commands/`. One lost reply is made up for by sending it again.
   * @throws {RetryLater} Redis does not answer
   */
  async run(name: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.#ask(() => callCommand(this.commands, name, keys, args), name)
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
    const ready = new Promise<boolean>(resolve => this.commands.once('ready', () => resolve(true)))
    const late = this.#clock.sleep(ms, done.signal).then(
      () => false,
      () => false,
    )
    return Promise.race([ready, late]).finally(() => done.abort())
  }
}
