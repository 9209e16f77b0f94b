/** The balancer in front of the replicas: round robin without stickiness, so that any of them answers any request. */
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../process/ports.ts'
import { stopProcess } from '../process/process.ts'
import { startServer } from '../process/server.ts'

/** Ports of a replica on loopback: for requests, and for the readiness check. */
export interface ReplicaPorts {
  readonly port: number
  readonly monitoringPort: number
}

export interface BalancerPlan {
  readonly port: number
  readonly replicas: readonly ReplicaPorts[]
  /** PEM of the authority for replicas with TLS; without it they use plain HTTP. */
  readonly caFile?: string | undefined
  /** Path of a PEM with certificate and key, for TLS towards clients; without it they use plain HTTP. */
  readonly certificate?: string | undefined
}

export interface Balancer {
  readonly url: string
  stop(): Promise<void>
}

/**
 * haproxy's own error responses, in the format of the replicas', so that clients need not distinguish them. Unreadable
 * requests are refused in haproxy's format.
 */
const ownAnswers = [
  [408, 'malformed', 'the request took too long to arrive'],
  [502, 'unavailable', 'the replica that had this request has ended'],
  [503, 'unavailable', 'no replica is ready'],
  [504, 'unavailable', 'the replica that had this request does not answer'],
] as const

function errorLine([status, type, msg]: (typeof ownAnswers)[number]): string {
  const body = JSON.stringify({ detail: [{ msg, type }] })
  const retry = status === 503 ? ' hdr Retry-After 1' : ''
  return `  http-error status ${status} content-type application/json string '${body}'${retry}`
}

/**
 * A configuration for haproxy. haproxy sends a request to another replica if it reached none.
 * It repeats no request that was sent, since a POST may have been carried out. Event streams pass unbuffered.
 */
export function balancerConfig({ port, replicas, caFile, certificate }: BalancerPlan): string {
  // The readiness port is always plain HTTP. No `verifyhost`: haproxy compares names only, and no addresses.
  const tls = caFile === undefined ? '' : ` ssl verify required ca-file ${caFile} no-check-ssl`
  const servers = replicas.map(
    (replica, index) => `  server replica-${index + 1} 127.0.0.1:${replica.port} port ${replica.monitoringPort}${tls}`,
  )
  return `global
  # A huge limit of the machine's would be taken as the number of connections to reserve memory for.
  fd-hard-limit 20000

defaults
  mode http
  balance roundrobin
  retry-on conn-failure
  retries 2
  option redispatch 1
  option http-no-delay
  timeout connect 1s
  timeout http-request 10s
  timeout http-keep-alive 75s
  # The longest silence on an event stream, above the 15 s between a replica's comment lines.
  timeout client 90s
  timeout server 90s
  # Silence on a WebSocket.
  timeout tunnel 1h
${ownAnswers.map(errorLine).join('\n')}

listen replicas
  bind 127.0.0.1:${port}${certificate === undefined ? '' : ` ssl crt ${certificate}`}
  option forwardfor
  # Ready, not merely alive: a replica that drains gets nothing new, while its open streams go on.
  option httpchk GET /readyz
  default-server check inter 500ms fall 2 rise 1
${servers.join('\n')}
`
}

/**
 * Starts haproxy on a free port; resolves when it takes connections. It answers 503 while no replica is ready.
 * Fails with haproxy's own message.
 */
export async function startBalancer(options: {
  readonly stateDir: string
  /** Path of haproxy. */
  readonly program: string
  readonly replicas: readonly ReplicaPorts[]
  readonly caFile?: string | undefined
  /** As `BalancerPlan` has it. */
  readonly certificate?: string | undefined
  /** Default: a free port. */
  readonly port?: number | undefined
  /** Name of the process, when a run has several. */
  readonly name?: string | undefined
}): Promise<Balancer> {
  const { stateDir, program, replicas, caFile, certificate, port = await freePort(), name = 'balancer' } = options
  const url = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  const file = join(stateDir, `${name}.cfg`)
  await writeFile(file, balancerConfig({ port, replicas, caFile, certificate }))
  const spec = { name, command: program, args: ['-db', '-f', file], stateDir }
  await startServer(spec, { answers: () => accepts(port), limitMs: 10_000 })
  return { url, stop: () => stopProcess(stateDir, name, 2000) }
}

/** Rejects while nothing listens. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', reject)
  })
}
