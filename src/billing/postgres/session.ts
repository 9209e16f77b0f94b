/** One connection to PostgreSQL, with limits on its times and on the bytes of an answer. */
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import type { PostgresPlace } from '../places.ts'
import { mostAnswerBytes, TableTrouble } from '../table.ts'
import { refusalOf, troubleOf } from './troubles.ts'

/** How often the bytes of an answer are counted. */
const countMs = 20

export class Session {
  readonly #client: pg.Client
  readonly #socket: Socket
  readonly #timeoutMs: number
  readonly #secrets: readonly (string | undefined)[]

  private constructor(client: pg.Client, socket: Socket, timeoutMs: number, secrets: readonly (string | undefined)[]) {
    this.#client = client
    this.#socket = socket
    this.#timeoutMs = timeoutMs
    this.#secrets = secrets
    // An error between two statements is found by the next one.
    client.on('error', () => {})
  }

  /** @throws {TableTrouble} */
  static async open(place: PostgresPlace, timeoutMs: number, signal?: AbortSignal): Promise<Session> {
    const password = await passwordOf(place)
    const socket = new Socket()
    const settings = { ...settingsOf(place, timeoutMs), password: () => password, stream: () => socket }
    const client = withoutVariables(() => new pg.Client(settings))
    const session = new Session(client, socket, timeoutMs, [password])
    const cut = () => session.close()
    signal?.addEventListener('abort', cut)
    try {
      await session.#bounded(client.connect(), mostAnswerBytes)
      return session
    } catch (error) {
      session.close()
      throw error
    } finally {
      signal?.removeEventListener('abort', cut)
    }
  }

  /**
   * Begins a transaction, each with its own limits: a server between us would refuse them at the connection. A writer that
   * sleeps in one is ended by the server, so it keeps a row from nobody for longer.
   */
  async begin(access: 'READ WRITE' | 'READ ONLY'): Promise<void> {
    const limits = ['statement_timeout', 'idle_in_transaction_session_timeout']
    const set = limits.map(name => `SET LOCAL ${name} = ${this.#timeoutMs}`)
    // A lock must be distinguished from a slow server.
    set.push(`SET LOCAL lock_timeout = ${Math.ceil(this.#timeoutMs / 2)}`)
    const text = [`BEGIN ISOLATION LEVEL READ COMMITTED ${access}`, ...set].join('; ')
    await this.#bounded(this.#client.query(text), mostAnswerBytes)
  }

  async end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await this.#bounded(this.#client.query(how), mostAnswerBytes)
  }

  /** @throws {TableTrouble}, or the server's error where it may concern these values alone */
  async query<Row extends object>(
    text: string,
    values: readonly unknown[],
    maxBytes = mostAnswerBytes,
  ): Promise<Row[]> {
    const { rows } = await this.#bounded(this.#client.query<Row>(text, [...values]), maxBytes, true)
    return rows
  }

  get bytesRead(): number {
    return this.#socket.bytesRead
  }

  /** Does not wait for the server. */
  close(): void {
    void this.#client.end().catch(() => {})
    this.#socket.destroySoon()
    this.#socket.unref()
  }

  /** A server that sends more than any answer needs is cut off. */
  async #bounded<T>(asked: Promise<T>, maxBytes: number, isOfData = false): Promise<T> {
    const before = this.#socket.bytesRead
    let isTooMuch = false
    const timer = setInterval(() => {
      if (this.#socket.bytesRead - before <= maxBytes) return
      isTooMuch = true
      this.#socket.destroy()
    }, countMs)
    try {
      return await asked
    } catch (error) {
      if (isTooMuch) throw new TableTrouble('Refused', `an answer has more than ${maxBytes} bytes`)
      throw isOfData && refusalOf(error) ? error : troubleOf(error, this.#secrets)
    } finally {
      clearInterval(timer)
    }
  }
}

async function passwordOf({ passwordFile, password = '' }: PostgresPlace): Promise<string> {
  if (passwordFile === undefined) return password
  try {
    return (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '')
  } catch (error) {
    throw new TableTrouble(
      'AccessDenied',
      `the password's file cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}

function settingsOf(place: PostgresPlace, timeoutMs: number): pg.ClientConfig {
  const { host, port, database, user } = place
  return {
    ...{ host, port, database, user, ssl: tlsOf(place), application_name: 'skylab' },
    connectionTimeoutMillis: timeoutMs,
    // The server's own limit comes first, so that its error says which limit it was.
    query_timeout: timeoutMs + 1_000,
    keepAlive: true,
  }
}

/** The library takes what it was not given from the environment, and an empty text for what was not given. */
function withoutVariables<T>(make: () => T): T {
  const variables = Object.entries(process.env).filter(([name]) => name.startsWith('PG'))
  for (const [name] of variables) delete process.env[name]
  try {
    return make()
  } finally {
    Object.assign(process.env, Object.fromEntries(variables))
  }
}

/** A socket in the file system needs none. The library compares the certificate with the host. */
function tlsOf({ host, tls, authorities }: PostgresPlace): ConnectionOptions | false {
  if (!tls || host.startsWith('/')) return false
  return { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(authorities !== undefined && { ca: authorities }) }
}
