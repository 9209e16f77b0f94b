/** One connection to Redis, made anew for as long as it takes. It is ready only where it reaches a server that can be used. */
import { Redis, type RedisOptions } from 'ioredis'
import { StandaloneConnector } from 'ioredis/built/connectors/index.js'
import type { RedisLogin } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { meaningOf } from './replies.ts'
import { type Refusal, readServer, refusalOf, type Server } from './server.ts'

export interface LinkOptions {
  readonly config: Config['redis']
  readonly login?: RedisLogin | undefined
  readonly onError: (message: string) => void
  /** A server is there, and is not used. */
  readonly onRefusal: (words: string) => void
}

/** A server that a connection has reached, and which connection was made after which. */
interface Reached {
  readonly server: Server
  readonly order: number
}

type Timeouts = Pick<RedisOptions, 'commandTimeout' | 'socketTimeout'>

let order = 0

export class Link {
  readonly redis: Redis
  readonly #onRefusal: LinkOptions['onRefusal']
  #reached: Reached | undefined
  #refusal: Refusal | undefined

  constructor({ config, login = {}, onError, onRefusal }: LinkOptions, timeouts: Timeouts) {
    this.#onRefusal = onRefusal
    this.redis = new Redis(addressOf(config.url), {
      lazyConnect: true,
      connectTimeout: config.connectTimeoutMs,
      disconnectTimeout: 250,
      maxLoadingRetryTime: 500,
      autoResendUnfulfilledCommands: false,
      // Two commands more for each connection, which the server's user would have to be permitted.
      disableClientInfo: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      // A server that was demoted keeps its connections: what is asked next goes where the address leads by then.
      reconnectOnError: (error: Error) => meaningOf(error) === 'elsewhere',
      retryStrategy: (attempt: number) => Math.min(50 * attempt, 500) * (0.75 + Math.random() / 2),
      Connector: connectorFor(server => this.#mayUse(server)),
      ...timeouts,
      ...loginOf(config.url, login),
      ...(login.authorities !== undefined && { tls: { ca: login.authorities } }),
    })
    this.redis.on('error', error => {
      onError(error.message)
      // An error reply ends here only where it came before the connection was ready.
      if (meaningOf(error) === 'someone') this.#refuse({ words: error.message, final: false })
    })
    this.redis.on('close', () => {
      this.#reached = undefined
    })
  }

  /** The server at the other end. */
  get server(): Server | undefined {
    return this.#reached?.server
  }

  /** Why the server that was met last is not used. */
  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** False also for a connection that is given up, and has not ended yet. */
  get ready(): boolean {
    return this.redis.status === 'ready' && this.redis.stream.writable
  }

  open(): void {
    this.redis.connect().catch(() => {})
  }

  close(): void {
    this.redis.disconnect()
  }

  renew(): void {
    this.redis.disconnect(true)
  }

  /** Whether this connection was made before the other one, to another server. */
  isStaleBeside(other: Link): boolean {
    const [mine, theirs] = [this.#reached, other.#reached]
    return !!mine && !!theirs && mine.server.runId !== theirs.server.runId && mine.order < theirs.order
  }

  #mayUse(server: Server): boolean {
    const refusal = refusalOf(server)
    if (refusal) {
      this.#refuse(refusal)
      return false
    }
    this.#refusal = undefined
    this.#reached = { server, order: ++order }
    return true
  }

  #refuse(refusal: Refusal): void {
    this.#refusal = refusal
    this.#onRefusal(refusal.words)
  }
}

/** Without name and password: the client would take those of an address, also where they are empty, before any others. */
function addressOf(url: string): string {
  return Object.assign(new URL(url), { username: '', password: '' }).href
}

function loginOf(address: string, login: RedisLogin): Pick<RedisOptions, 'username' | 'password'> {
  const url = new URL(address)
  const username = login.username || decodeURIComponent(url.username)
  const password = login.password ?? decodeURIComponent(url.password)
  return { ...(username !== '' && { username }), ...((username !== '' || password !== '') && { password }) }
}

/** A connector that asks, by what INFO says, whether a server may be used, before any command is sent to it. */
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
