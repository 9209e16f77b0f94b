/** The proxies that the bench compares, each on one processor before the same app. */
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { run } from '../../dev/process/command.ts'
import { freePort } from '../../dev/process/ports.ts'
import { readRecord } from '../../dev/process/process.ts'
import { startServer } from '../../dev/process/server.ts'
import { appId, startGateway } from '../../test/kit/gateway/process.ts'
import type { Worker } from '../measure/worker.ts'
import type { Before } from './bare.ts'
import type { Target } from './client.ts'

export interface Contender {
  readonly name: 'direct' | 'haproxy' | 'chp' | 'gateway' | 'bare'
  readonly target: Target
  /** Undefined: there is none. */
  readonly pid?: number
  /** Further apps, which requests of one measure go to. */
  readonly others?: Target['others']
}

export interface ProxyParts {
  readonly stateDir: string
  /** Of the app. */
  readonly port: number
  /** Path of haproxy. */
  readonly haproxy: string
  readonly sockets: number
  /** Further apps of the gateway. */
  readonly others: number
  /** `bare.ts`. */
  readonly bare: Worker
  /** Of the gateway. */
  readonly nodeArgs: readonly string[]
}

/** The processors of the proxy, and of client and app. */
export const cores = { proxy: 0, others: 1 } as const
const prefixOf = (id: string) => `/console/apps/${id}`
const prefix = prefixOf(appId)
const startMs = 20_000

/** Puts all threads of a process onto one processor. */
export const pin = async (pid: number, core: number): Promise<void> => {
  await run('taskset', ['-acp', String(core), String(pid)])
}

/**
 * Has a process give way to all others on its processor. The client waits for the times of its requests without a pause: each of its
 * turns of 4 ms kept the app waiting.
 */
export async function giveWay(pid: number): Promise<void> {
  const { PRIORITY_LOW } = constants.priority
  // Linux weighs sessions first. Where it does not, processes count, by their first thread.
  await writeFile(`/proc/${pid}/autogroup`, String(PRIORITY_LOW)).catch(() => setPriority(pid, PRIORITY_LOW))
}

export async function startProxies(parts: ProxyParts): Promise<Contender[]> {
  const { port } = parts
  const direct: Contender = { name: 'direct', target: { port, prefix, lines: [`Host: 127.0.0.1:${port}`] } }
  return [direct, await haproxy(parts), await chp(parts), await gateway(parts), await bare(parts)]
}

async function bare({ bare: worker, port: app, sockets }: ProxyParts): Promise<Contender> {
  await pin(worker.pid, cores.proxy)
  const port = await worker.ask<number>({ port: app, connections: sockets + 1000 } satisfies Before)
  return { name: 'bare', target: targetOf(port), pid: worker.pid }
}

async function haproxy({ stateDir, port: app, haproxy: program, sockets }: ProxyParts): Promise<Contender> {
  const port = await freePort()
  const file = join(stateDir, 'bench-haproxy.cfg')
  const limit = sockets + 1000
  await writeFile(
    file,
    `global
  nbthread 1
  maxconn ${limit}
defaults
  mode http
  maxconn ${limit}
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  option forwardfor
listen app
  bind 127.0.0.1:${port} backlog 65535
  server app 127.0.0.1:${app}
`,
  )
  const spec = {
    name: 'bench-haproxy',
    command: 'taskset',
    args: ['-c', String(cores.proxy), program, '-db', '-f', file],
  }
  await startServer({ ...spec, stateDir }, { answers: answers(port), limitMs: startMs })
  return { name: 'haproxy', target: targetOf(port), pid: readRecord(stateDir, spec.name)!.pid }
}

async function chp({ stateDir, port: app }: ProxyParts): Promise<Contender> {
  const [port, api] = [await freePort(), await freePort()]
  const program = createRequire(import.meta.url).resolve('configurable-http-proxy/bin/configurable-http-proxy')
  const options = ['--ip', '127.0.0.1', '--port', String(port), '--api-ip', '127.0.0.1', '--api-port', String(api)]
  const spec = {
    name: 'bench-chp',
    command: 'taskset',
    args: ['-c', String(cores.proxy), process.execPath, program, ...options, '--log-level', 'error'],
    env: { CONFIGPROXY_AUTH_TOKEN: 'bench', NODE_ENV: 'production' },
  }
  await startServer({ ...spec, stateDir }, { answers: answers(port), limitMs: startMs })
  const answer = await fetch(`http://127.0.0.1:${api}/api/routes${prefix}`, {
    method: 'POST',
    headers: { Authorization: 'token bench', 'Content-Type': 'application/json' },
    body: JSON.stringify({ target: `http://127.0.0.1:${app}` }),
  })
  if (!answer.ok) throw new Error(`configurable-http-proxy refused the route: ${answer.status}`)
  return { name: 'chp', target: targetOf(port), pid: readRecord(stateDir, spec.name)!.pid }
}

async function gateway({ stateDir, port, sockets, others: count, nodeArgs }: ProxyParts): Promise<Contender> {
  const many = sockets + 1000
  const limits = {
    requestsPerApp: many,
    requestsPerUser: many,
    socketsPerApp: many,
    socketsPerUser: many,
    connections: 2 * many,
  }
  const { replica, lines, others } = await startGateway({ stateDir, port, config: { limits }, nodeArgs, others: count })
  await pin(replica.pid, cores.proxy)
  return {
    ...{ name: 'gateway', target: { port: replica.port, prefix, lines }, pid: replica.pid },
    others: others.map(({ id, lines }) => ({ prefix: prefixOf(id), lines })),
  }
}

/** With cookies and Origin as those of the gateway, so that all read as much. */
function targetOf(port: number): Target {
  const cookie = `__Host-Http-skylab-login=${'a'.repeat(43)}; phapplication-session-id=${'b'.repeat(43)}`
  return { port, prefix, lines: [`Host: 127.0.0.1:${port}`, `Origin: http://127.0.0.1:${port}`, `Cookie: ${cookie}`] }
}

/** Any answer will do. */
const answers = (port: number) => async () => {
  await (await fetch(`http://127.0.0.1:${port}${prefix}/size/1024`)).body?.cancel()
  return true
}
