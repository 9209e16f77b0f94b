/** Servers for wrong connections: with TLS and several certificates, without TLS, and one that accepts no connection. */
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Redis as RedisClient } from 'ioredis'
import { parse } from 'yaml'
import { freePort } from '../../../dev/process/ports.ts'
import { type Redis, startRedis } from '../../../dev/redis/redis.ts'
import { FakeGoogle } from '../../kit/images/google.ts'
import { LocalServer, type Respond, status } from '../../kit/images/server.ts'
import { testBed } from '../../kit/testbed.ts'
import { TestAuthority } from '../../kit/tls/authority.ts'

export type Flaw = 'none' | 'expired' | 'otherName'

/** A server for each flaw of its certificate, and the authority of all certificates. */
export interface Servers {
  readonly folder: string
  readonly authority: TestAuthority
  /** An authority that signed none of them. */
  readonly strangers: TestAuthority
  /** Without TLS; all users need a password. */
  readonly redis: Redis
  readonly redisByTls: Readonly<Record<Flaw, Redis>>
  /** They ask for a password as registries do, and have no other path. */
  readonly http: LocalServer
  readonly https: Readonly<Record<Flaw, LocalServer>>
  readonly google: FakeGoogle
  /** Accepts no connection and refuses none, as behind a firewall. */
  readonly hangingPort: number
  readonly unusedPort: number
  stop(): Promise<void>
}

const refuse: Respond = (asked, response) => {
  const isRegistry = asked.path.startsWith('/v2/')
  status(isRegistry ? 401 : 404, isRegistry ? { 'WWW-Authenticate': 'Basic realm="box"' } : {})(asked, response)
}

export const passwordOfDefault = 'the-password-of-default'

export async function startServers(): Promise<Servers> {
  const folder = join(testBed().stateDir, `mistakes-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  const [authority, strangers] = [new TestAuthority(folder), new TestAuthority(folder, 'strangers')]
  const here = ['IP:127.0.0.1', 'IP:0.0.0.0']
  const issued = {
    none: authority.issue('none', { alternatives: here }),
    expired: authority.expired(authority.issue('expired', { alternatives: here })),
    otherName: authority.issue('other-name', { alternatives: ['DNS:elsewhere.example'] }),
  }
  const { caFile } = authority
  const ofAll = async <T>(start: (flaw: Flaw) => Promise<T>): Promise<Record<Flaw, T>> => {
    const [none, expired, otherName] = await Promise.all([start('none'), start('expired'), start('otherName')])
    return { none, expired, otherName }
  }
  const [redis, redisByTls, http, https, google, hanging] = await Promise.all([
    startRedis({ stateDir: folder }),
    ofAll(flaw => startRedis({ stateDir: folder, tls: { ...issued[flaw], caFile } })),
    LocalServer.start(refuse),
    ofAll(flaw => LocalServer.start(refuse, { ...issued[flaw], ca: authority.ca })),
    FakeGoogle.start(),
    startHanging(),
  ])
  await demandPassword(redis)
  const stop = async () => {
    await Promise.all([redis, ...Object.values(redisByTls), http, ...Object.values(https)].map(each => each.stop()))
    await Promise.all([google.server.stop(), hanging.stop()])
  }
  const unusedPort = await freePort()
  return {
    folder,
    authority,
    strangers,
    redis,
    redisByTls,
    http,
    https,
    google,
    ...{ unusedPort, stop },
    hangingPort: hanging.port,
  }
}

async function demandPassword({ port }: Redis): Promise<void> {
  const client = new RedisClient(port, '127.0.0.1')
  await client.acl('SETUSER', 'default', 'resetpass', `>${passwordOfDefault}`)
  client.disconnect()
}

/** Its thread sleeps once it listens: after the first connections, which the kernel accepts, nothing is answered. */
const sleeper = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address())
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

async function startHanging() {
  const worker = new Worker(sleeper, { eval: true })
  const [{ port }] = (await once(worker, 'message')) as [AddressInfo]
  const taken = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  await Promise.all(taken.map(socket => once(socket, 'connect')))
  const stop = async () => {
    for (const socket of taken) socket.destroy()
    await worker.terminate()
  }
  return { port, stop }
}

interface KubeParts {
  readonly server?: string
  readonly 'certificate-authority-data'?: string
  readonly 'tls-server-name'?: string
  readonly token?: string
}

/** Writes the controller's kubeconfig with one change; returns its path. */
export function kubeconfigWith(folder: string, name: string, { token, ...cluster }: KubeParts): string {
  const config = parse(readFileSync(testBed().controllerKubeconfig, 'utf8'))
  Object.assign(config.clusters[0].cluster, cluster)
  if (token !== undefined) Object.assign(config.users[0].user, { token })
  const file = join(folder, `${name.replace(/\W+/g, '-')}.kubeconfig`)
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return file
}
