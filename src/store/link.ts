/** One connection to Redis, which reconnects for as long as it takes. It is ready only with a server that can be used. */
import type { Redis, RedisOptions } from 'ioredis'
import { StandaloneConnector } from 'ioredis/built/connectors/index.js'
import type { Clock } from '../base/clock.ts'
import { closedEarly, type Reason, type ReasonHints, reasonOf } from '../base/reasons.ts'
import type { RedisLogin } from '../config/redis-login.ts'
import type { Config } from '../config/schema.ts'
import { type Patience, type PatientOptions, PatientRedis } from './patient-redis.ts'
import { meaningOf } from './replies.ts'
import { readServer, refusalOf, type Server } from './server.ts'

export interface LinkOptions {
  readonly config: Config['redis']
  readonly login?: RedisLogin | undefined
  readonly clock: Clock
  /** Called with the reason when no usable connection exists. */
  readonly onTrouble: (trouble: Trouble) => void
}

/** The reason why there is no connection. */
export interface Trouble extends Reason {
  /** Only a person can help: a starting process ends with this reason. Running ones wait until it has passed. */
  readonly final: boolean
}

/** A server that a connection has reached, and the rank of that connection by age. */
interface Reached {
  readonly server: Server
  readonly order: number
}

let order = 0

export class Link {
  readonly redis: Redis
  readonly #onTrouble: LinkOptions['onTrouble']
  readonly #hints: ReasonHints
  readonly #byTls: boolean
  #reached: Reached | undefined
  #trouble: Trouble | undefined
  /** True if the outcome of the current attempt to connect is explained. */
  #explained = false

  constructor({ config, login = {}, clock, onTrouble }: LinkOptions, patience: Patience) {
    this.#onTrouble = onTrouble
    this.#hints = { trustBy: 'redis.caFile', secrets: secretsOf(config.url, login) }
    this.#byTls = new URL(config.url).protocol === 'rediss:'
    const options: PatientOptions = {
      lazyConnect: true,
      connectTimeout: config.connectTimeoutMs,
      disconnectTimeout: 250,
      maxLoadingRetryTime: 500,
      autoResendUnfulfilledCommands: false,
      // It would send two more commands per connection, which the server's user would need rights for.
      disableClientInfo: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      // A demoted server keeps its connections. After a reconnect commands go to the server that the address now leads to.
      reconnectOnError: (error: Error) => meaningOf(error) === 'elsewhere',
      retryStrategy: (attempt: number) => Math.min(50 * attempt, 500) * (0.75 + Math.random() / 2),
      Connector: connectorFor(server => this.#mayUse(server)),
      ...loginOf(config.url, login),
      ...(login.authorities !== undefined && { tls: { ca: login.authorities } }),
    }
    this.redis = new PatientRedis(addressOf(config.url), options, clock, patience)
    // Error replies arrive here only before the connection is ready.
    this.redis.on('error', error => this.#fail(error))
    this.redis.on('close', () => {
      if (!this.#explained) this.#fail({ code: closedEarly })
      this.#explained = false
      this.#reached = undefined
    })
  }

  /** The server that the connection has reached. */
  get server(): Server | undefined {
    return this.#reached?.server
  }

  /** The reason why the last attempt to connect failed. */
  get trouble(): Trouble | undefined {
    return this.#trouble
  }

  /** False also for a connection that is being closed. */
  get ready(): boolean {
    return this.redis.status === 'ready' && this.redis.stream.writable
  }

  open(): void {
    this.redis.connect().catch(() => {})
  }

  close(): void {
    this.#explained = true
    this.redis.disconnect()
  }

  renew(): void {
    this.#explained = true
    this.redis.disconnect(true)
  }

  /** True if this connection is older than the other one, and reaches another server. */
  isStaleBeside(other: Link): boolean {
    const [mine, theirs] = [this.#reached, other.#reached]
    return !!mine && !!theirs && mine.server.runId !== theirs.server.runId && mine.order < theirs.order
  }

  #mayUse(server: Server): boolean {
    const refusal = refusalOf(server)
    if (refusal) {
      this.#report({ ...refusal, detail: '' })
      return false
    }
    this.#explained = true
    this.#trouble = undefined
    this.#reached = { server, order: ++order }
    return true
  }

  #fail(error: unknown): void {
    const greeted = this.#reached !== undefined
    const hints = { ...this.#hints, clear: !this.#byTls && !greeted, handshake: this.#byTls && !greeted }
    this.#report({ ...reasonOf(error, hints), final: false })
  }

  #report(trouble: Trouble): void {
    this.#explained = true
    this.#trouble = trouble
    this.#onTrouble(trouble)
  }
}

/** Passwords that must not appear in messages, even if a server repeats them. */
export function secretsOf(url: string, { password }: RedisLogin = {}): string[] {
  const written = new URL(url).password
  return [password ?? '', decodeURIComponent(written), written]
}

/** Removes name and password: the client would prefer those of an address to others, even empty ones. */
function addressOf(url: string): string {
  return Object.assign(new URL(url), { username: '', password: '' }).href
}

function loginOf(address: string, login: RedisLogin): Pick<RedisOptions, 'username' | 'password'> {
  const url = new URL(address)
  const username = login.username || decodeURIComponent(url.username)
  const password = login.password ?? decodeURIComponent(url.password)
  return { ...(username !== '' && { username }), ...((username !== '' || password !== '') && { password }) }
}

/** A connector that checks by INFO whether a server may be used, before any command is sent to it. */
function connectorFor(mayUse: (server: Server) => boolean): NonNullable<RedisOptions['Connector']> {
  return class extends StandaloneConnector {
    constructor(options: unknown) {
      super(options as ConstructorParameters<typeof StandaloneConnector>[0])
    }

    override check(info: Readonly<Record<string, string>>): boolean {
      return mayUse(readServer(info))
    }
  }
}
