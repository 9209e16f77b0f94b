/** One connection to PostgreSQL, with limits on its times and on the bytes of an answer. */
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { mostAnswerBytes, TableTrouble } from '../table.ts'
import { troubleOf } from './troubles.ts'

export interface PostgresPlace {
  /** A name, an address, or the folder of a socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  /** Read anew for each connection, so that a new password needs no new process. */
  readonly passwordFile?: string | undefined
  /** Of the environment, where there is no file. */
  readonly password?: string | undefined
  /** Whether the certificate of the server is demanded, and must be of this host. */
  readonly tls: boolean
  /** PEM of the authorities that sign it, in place of the usual ones. */
  readonly authorities?: string | undefined
}

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
    // What happens between two statements is found by the next one.
    client.on('error', () => {})
  }

  /** @throws {TableTrouble} */
  static async open(place: PostgresPlace, timeoutMs: number): Promise<Session> {
    const password = await passwordOf(place)
    const socket = new Socket()
    const client = new pg.Client({ ...settingsOf(place, timeoutMs), password, stream: () => socket })
    const session = new Session(client, socket, timeoutMs, [password])
    try {
      await session.#bounded(client.connect(), mostAnswerBytes)
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }

  /**
   * Begins a transaction, each with its own limits: a server between us would refuse them at the connection. A writer that
   * sleeps in one is ended by the server, so it keeps a row from nobody for longer.
   */
  async begin(access: 'READ WRITE' | 'READ ONLY'): Promise<void> {
    const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    const set = limits.map(name => `SET LOCAL ${name} = ${this.#timeoutMs}`)
    const text = [`BEGIN ISOLATION LEVEL READ COMMITTED ${access}`, ...set].join('; ')
    await this.#bounded(this.#client.query(text), mostAnswerBytes)
  }

  async end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await this.#bounded(this.#client.query(how), mostAnswerBytes)
  }

  /** @throws {TableTrouble}, or the server's error for data that it cannot hold */
  async query<Row extends object>(
    text: string,
    values: readonly unknown[],
    maxBytes = mostAnswerBytes,
  ): Promise<Row[]> {
    const { rows } = await this.#bounded(this.#client.query<Row>(text, [...values]), maxBytes)
    return rows
  }

  /** Does not wait for the server. */
  close(): void {
    void this.#client.end().catch(() => {})
    this.#socket.destroySoon()
    this.#socket.unref()
  }

  /** A server that sends more than any answer needs is cut off. */
  async #bounded<T>(asked: Promise<T>, maxBytes: number): Promise<T> {
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
      throw isData(error) ? error : troubleOf(error, this.#secrets)
    } finally {
      clearInterval(timer)
    }
  }
}

const isData = (error: unknown): boolean => /^2[23]/.test(String((error as { readonly code?: unknown }).code))

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

/** Everything that the library would else take from the environment. */
function settingsOf(place: PostgresPlace, timeoutMs: number): pg.ClientConfig {
  const { host, port, database, user } = place
  return {
    ...{ host, port, database, user, ssl: tlsOf(place), options: '', application_name: 'skylab' },
    connectionTimeoutMillis: timeoutMs,
    // The server's own limit comes first, and is told as what it is.
    query_timeout: timeoutMs + 1_000,
    keepAlive: true,
  }
}

/** A socket in the file system needs none. The library compares the certificate with the host. */
function tlsOf({ host, tls, authorities }: PostgresPlace): ConnectionOptions | false {
  if (!tls || host.startsWith('/')) return false
  return { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(authorities !== undefined && { ca: authorities }) }
}
