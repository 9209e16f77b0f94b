/** A PostgreSQL of one run on loopback, for the bills of tenants. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { findProgram, run } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import {
  killAll,
  type ProcessId,
  type ProcessSpec,
  readRecord,
  signalProcess,
  startTimeOf,
  stopProcess,
  waitForEnd,
} from '../process/process.ts'
import { controlServer, type ServerControl, startServer } from '../process/server.ts'

export interface PostgresOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  /** Statements of the superuser, once the database is there. */
  readonly statements?: readonly string[]
  /** Certificates for TLS. Connections without TLS are accepted too. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Postgres extends ServerControl {
  readonly host: '127.0.0.1'
  readonly port: number
  readonly database: string
  /** The user of the program: it owns nothing. Its password is its name. */
  readonly user: string
  /** Runs a statement as the superuser. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Runs a program for people, such as psql, as the superuser. */
  psql(text: string): Promise<string>
  stop(): Promise<void>
}

const superuser = 'postgres'
const user = 'skylab'
const database = 'bills'
const startLimitMs = 60_000

/** Debian's programs of the newest version; only some of them are in the PATH. */
export function postgresProgram(name: string): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const found = versions.map(version => join(root, version, 'bin', name)).find(existsSync)
  return found ?? findProgram(name)
}

/** Starts it; resolves when it answers. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { stateDir, statements = [], signal } = options
  const port = await freePort()
  const name = `postgres-${port}`
  const folder = join(stateDir, name)
  mkdirSync(folder, { recursive: true })
  await initialize(folder, options.tls)
  const spec = specOf(name, folder, port, options)
  const readiness = { answers: () => answers(new Superuser(port, superuser)), limitMs: startLimitMs, signal }
  await startServer(spec, readiness)
  const first = new Superuser(port, superuser)
  await first.query(`CREATE ROLE "${user}" LOGIN PASSWORD '${user}'`)
  await first.query(`CREATE DATABASE "${database}"`)
  first.close()
  const admin = new Superuser(port)
  for (const statement of statements) await admin.query(statement)
  const control = controlServer(spec, { answers: () => answers(new Superuser(port)), limitMs: startLimitMs })
  const kill = () => killWithChildren(stateDir, name)
  return {
    ...{ host: '127.0.0.1', port, database, user, query: (text, values) => admin.query(text, values) },
    psql: text =>
      run(
        postgresProgram('psql')!,
        ['-X', '-h', '127.0.0.1', '-p', String(port), '-U', superuser, database, '-c', text],
        { env: { ...process.env, PGPASSWORD: superuser } },
      ),
    ...{ kill, start: control.start },
    restart: async () => {
      await kill()
      await control.start()
    },
    // Its children answer, each for one connection.
    pause: async () => signalAll(stateDir, name, 'SIGSTOP'),
    resume: async () => signalAll(stateDir, name, 'SIGCONT'),
    stop: async () => {
      admin.close()
      await signalAll(stateDir, name, 'SIGCONT')
      const id = readRecord(stateDir, name)
      // SIGTERM would wait for all connections.
      if (id && signalProcess(stateDir, name, 'SIGINT')) await waitForEnd(id, 10_000)
      await stopProcess(stateDir, name, 0)
    },
  }
}

async function answers(as: Superuser): Promise<boolean> {
  try {
    return (await as.query('SELECT 1')).length === 1
  } finally {
    as.close()
  }
}

/** It refuses to run as root: in a namespace of users it sees itself as nobody, who there owns what is root's. */
function asNobody(command: string, args: readonly string[]): readonly [string, string[]] {
  if (process.getuid?.() !== 0) return [command, [...args]]
  return [findProgram('unshare')!, ['--user', '--map-user=65534', '--map-group=65534', '--', command, ...args]]
}

async function initialize(folder: string, tls: PostgresOptions['tls']): Promise<void> {
  const program = postgresProgram('initdb')
  if (!program) throw new Error('there is no initdb: set-up was not asked for it')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, superuser, { mode: 0o600 })
  const args = ['-D', join(folder, 'data'), '-U', superuser, '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  await run(...asNobody(program, [...args, '--no-sync', '--no-locale', '-E', 'UTF8']))
  if (!tls) return
  // The server refuses a key that others can read.
  const keyFile = join(folder, 'server.key')
  writeFileSync(keyFile, readFileSync(tls.keyFile), { mode: 0o600 })
  chmodSync(keyFile, 0o600)
}

function specOf(name: string, folder: string, port: number, { stateDir, tls }: PostgresOptions): ProcessSpec {
  const settings = {
    ...{ listen_addresses: '127.0.0.1', port, unix_socket_directories: '' },
    // Nothing but a crash of the machine could lose what was committed; and nothing outside of the folder stays after a kill.
    ...{ fsync: 'off', dynamic_shared_memory_type: 'mmap', max_connections: 30, shared_buffers: '16MB' },
    ...(tls && { ssl: 'on', ssl_cert_file: tls.certFile, ssl_key_file: join(folder, 'server.key') }),
  }
  const args = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  const [command, all] = asNobody(postgresProgram('postgres')!, ['-D', join(folder, 'data'), ...args])
  return { name, command, args: all, stateDir }
}

/** Queries of the superuser, one after another on one connection, which is made anew when the server was away. */
class Superuser {
  readonly #port: number
  readonly #database: string
  #client: pg.Client | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(port: number, inDatabase = database) {
    this.#port = port
    this.#database = inDatabase
  }

  query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const asked = this.#last.then(() => this.#ask<Row>(text, values))
    this.#last = asked.catch(() => {})
    return asked
  }

  close(): void {
    void this.#client?.end().catch(() => {})
    this.#client = undefined
  }

  async #ask<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      this.#client ??= await this.#connect()
      return (await this.#client.query<Row>(text, values.length === 0 ? undefined : [...values])).rows
    } catch (error) {
      // An answer of the server itself shows that it is there.
      if (!(error instanceof pg.DatabaseError) || error.severity === 'FATAL') this.close()
      throw error
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...{ host: '127.0.0.1', port: this.#port, user: superuser, password: superuser, database: this.#database },
      ...{ ssl: false, connectionTimeoutMillis: 5_000, query_timeout: 30_000 },
    })
    client.on('error', () => {
      if (this.#client === client) this.#client = undefined
    })
    await client.connect()
    return client
  }
}

function childrenOf(pid: number): readonly ProcessId[] {
  try {
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
    return pids.flatMap(each => {
      const startTime = startTimeOf(each)
      return startTime === null ? [] : [{ pid: each, startTime }]
    })
  } catch {
    return []
  }
}

/** As a crash of its machine would. It does not start again while a former child lives. */
async function killWithChildren(stateDir: string, name: string): Promise<void> {
  const id = readRecord(stateDir, name)
  if (!id) return
  signalProcess(stateDir, name, 'SIGSTOP')
  const children = childrenOf(id.pid)
  await stopProcess(stateDir, name, 0)
  await killAll([...children])
}

async function signalAll(stateDir: string, name: string, signal: NodeJS.Signals): Promise<void> {
  const id = readRecord(stateDir, name)
  if (!id || !signalProcess(stateDir, name, signal)) return
  for (const { pid } of childrenOf(id.pid)) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }
}
