import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { aclLine, commandsOfHeal } from '../../src/store/rights.ts'
import { findProgram } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { type ProcessSpec, stopProcess } from '../process/process.ts'
import { controlServer, type ServerControl, startServer } from '../process/server.ts'

export interface RedisOptions {
  /** The folder of an open run. */
  stateDir: string
  /** Whether data survive a restart (append-only file). Default false. */
  aof?: boolean | undefined
  /** Whether it is the first server of a Redis Cluster, without slots so far. Default false. */
  cluster?: boolean | undefined
  /** Whether its wall clock can be stepped; its monotonic clock is always right. Needs libfaketime. */
  wrongClock?: boolean
  port?: number
  /** The keys that the program's user may use: a prefix, or a pattern of prefixes. Default `skylab`. */
  keyPrefix?: string | undefined
  /** Lines of more users, as an ACL file has them. */
  users?: readonly string[] | undefined
  /** Certificates for TLS; with them it serves nothing without TLS. */
  tls?: RedisTls | undefined
  signal?: AbortSignal | undefined
}

/** Paths of PEM files. */
export interface RedisTls {
  readonly certFile: string
  readonly keyFile: string
  readonly caFile: string
}

/** A Redis of one run. Without `aof` a restart empties it. */
export interface Redis extends ServerControl {
  /** As Redis' default user with all rights: for tests that inspect and break. */
  readonly url: string
  /** As the program's user, with the rights of `src/store/rights.ts`. */
  readonly programUrl: string
  /** As a user with the rights of `skylab heal` too. */
  readonly healerUrl: string
  readonly port: number
  /** Sets its wall clock that many seconds off the real time. */
  stepClock(offSeconds: number): void
  stop(): Promise<void>
}

/** Debian's library that changes the clock of a process. */
export const fakeTime = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketime.so.1`

export const startLimitMs = 60_000

/** Starts Redis on loopback; resolves when it answers. */
export async function startRedis(options: RedisOptions): Promise<Redis> {
  const { stateDir, signal } = options
  const port = options.port ?? (await freePort())
  const name = `redis-${port}`
  // Redis' own choice, 10000 above its port, is one of those that the kernel gives out.
  const spec = redisSpec(name, { port, cluster: options.cluster ? await freePort() : undefined }, options)
  const stepClock = (offSeconds: number) => {
    const file = clockFile(stateDir, name)
    writeFileSync(`${file}.part`, offSeconds < 0 ? `${offSeconds}` : `+${offSeconds}`)
    renameSync(`${file}.part`, file)
  }
  if (options.wrongClock) stepClock(0)
  const readiness = {
    answers: () => answersPing(port, '127.0.0.1', options.tls !== undefined),
    limitMs: startLimitMs,
    signal,
  }
  await startServer(spec, readiness)
  return {
    ...urlsAt(`127.0.0.1:${port}`, options.tls && 'rediss'),
    port,
    ...controlServer(spec, readiness),
    stepClock,
    stop: () => stopProcess(stateDir, name, 5000),
  }
}

/** URLs of one server by user; passwords equal names. */
export const urlsAt = (address: string, scheme = 'redis'): Pick<Redis, 'url' | 'programUrl' | 'healerUrl'> => ({
  url: `${scheme}://${address}`,
  programUrl: `${scheme}://program:program@${address}`,
  healerUrl: `${scheme}://healer:healer@${address}`,
})

/** The program's user, one who may also heal, and further lines, as arguments for redis-server. */
export const userArguments = (keyPrefix = 'skylab', users: readonly string[] = []): string[] =>
  [
    aclLine({ name: 'program', password: '>program', keyPrefix }),
    aclLine({ name: 'healer', password: '>healer', keyPrefix, more: commandsOfHeal }),
    ...users,
  ].flatMap(line => ['--user', ...line.split(' ').slice(1)])

const clockFile = (stateDir: string, name: string) => join(stateDir, `${name}.clock`)

const wrongClockEnv = (file: string) => ({
  // Redis' allocator asks for the time before the library is ready: the C library's allocator takes its place.
  LD_PRELOAD: `${fakeTime} libc.so.6`,
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_NO_CACHE: '1',
  DONT_FAKE_MONOTONIC: '1',
})

/** Settings for every Redis, in a process or a container. */
export const redisSettings = ({ aof, cluster }: Pick<RedisOptions, 'aof' | 'cluster'>): Record<string, string> => ({
  save: '',
  appendonly: aof ? 'yes' : 'no',
  // As in k8s/. By Redis' default a write waits up to 2 s for a sync in progress, and a kill meanwhile loses it.
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
  'cluster-enabled': cluster ? 'yes' : 'no',
})

/** Settings as arguments for redis-server. */
export const toArguments = (settings: Record<string, string>): string[] =>
  Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value])

interface Ports {
  readonly port: number
  /** For other servers of a Redis Cluster. */
  readonly cluster: number | undefined
}

function redisSpec(name: string, { port, cluster: clusterPort }: Ports, options: RedisOptions): ProcessSpec {
  const { stateDir, aof, cluster, wrongClock, keyPrefix, users, tls } = options
  const command = findProgram('redis-server')
  if (!command) throw new Error('there is no redis-server: set-up was not asked for it')
  const folder = join(stateDir, name)
  mkdirSync(folder, { recursive: true })
  const settings = {
    ...redisSettings({ aof, cluster }),
    ...(clusterPort !== undefined && { 'cluster-port': String(clusterPort) }),
    bind: '127.0.0.1',
    ...(tls ? tlsSettings(port, tls) : { port: String(port) }),
    dir: folder,
    // Otherwise its title would overwrite the environment with the marker, by which a killed run's processes are found.
    'set-proc-title': 'no',
  }
  return {
    name,
    command,
    args: [...toArguments(settings), ...userArguments(keyPrefix, users)],
    stateDir,
    ...(wrongClock && { env: wrongClockEnv(clockFile(stateDir, name)) }),
  }
}

const tlsSettings = (port: number, { certFile, keyFile, caFile }: RedisTls) => ({
  port: '0',
  'tls-port': String(port),
  'tls-cert-file': certFile,
  'tls-key-file': keyFile,
  'tls-ca-cert-file': caFile,
  'tls-auth-clients': 'no',
  'tls-replication': 'yes',
})

/** Whether it answers a PING; false while it loads its file. */
export function answersPing(port: number, host = '127.0.0.1', byTls = false): Promise<boolean> {
  return new Promise(resolve => {
    const socket = byTls ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port })
    socket.setTimeout(1000, () => socket.destroy())
    socket.once(byTls ? 'secureConnect' : 'connect', () => socket.write('PING\r\n'))
    socket.once('data', (answer: Buffer) => {
      resolve(answer.toString().startsWith('+PONG'))
      socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.once('close', () => resolve(false))
  })
}
