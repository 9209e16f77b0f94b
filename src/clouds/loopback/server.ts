/** The SSH server of a machine on this computer: one key may log in, and run commands. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'

export interface Host {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** Gives commands the machine's own places. */
  readonly rewrite: (command: string) => string
}

/** The longest delay of a timer: ssh2 takes its own interval for 0. */
const never = 2 ** 31 - 1

export interface SshOptions {
  /** The key that may log in, in OpenSSH's form. */
  readonly authorizedKey: string
  /** In OpenSSH's form, private. */
  readonly hostKey: string
  /** An address of loopback. */
  readonly host?: string
  readonly run: (channel: ssh2.ServerChannel, command: string) => void
}

export interface SshServer {
  readonly port: number
  /** Ends it, and all connections. */
  stop(): void
}

export function serveSsh({ authorizedKey, hostKey, host = '127.0.0.1', run }: SshOptions): Promise<SshServer> {
  const authorized = ssh2.utils.parseKey(authorizedKey)
  if (authorized instanceof Error) throw authorized
  const clients = new Set<ssh2.Connection>()
  // As OpenSSH by default, it asks nobody whether he is there.
  const server = new ssh2.Server({ hostKeys: [hostKey], keepaliveInterval: never }, client => {
    // A packet is three writes, and the second would wait for the other side's acknowledgement.
    ;(client as unknown as Pick<ssh2.Client, 'setNoDelay'>).setNoDelay()
    clients.add(client)
    client.on('close', () => clients.delete(client))
    client.on('error', () => {})
    client.on('authentication', context => (isAuthorized(context, authorized) ? context.accept() : context.reject()))
    client.on('session', accept => {
      accept().on('exec', (acceptExec, _reject, { command }) => run(acceptExec(), command))
    })
  })
  const stop = () => {
    server.close()
    for (const client of clients) client.end()
  }
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, host, () => resolve({ port: (server.address() as AddressInfo).port, stop }))
  })
}

/** Once without a signature, to ask whether the key would do; then with one. */
function isAuthorized(context: ssh2.AuthContext, authorized: ssh2.ParsedKey): boolean {
  if (context.method !== 'publickey') return false
  const { key, signature, blob, hashAlgo } = context
  const known = authorized.getPublicSSH()
  if (key.data.length !== known.length || !timingSafeEqual(key.data, known)) return false
  return signature === undefined || (blob !== undefined && authorized.verify(blob, signature, hashAlgo) === true)
}

/** By `sh -c`. As with sshd, a client that leaves closes the command's pipes, and ends nothing. */
export function runCommand(channel: ssh2.ServerChannel, command: string, { env, cwd, rewrite }: Host): void {
  const child = spawn('/bin/sh', ['-c', rewrite(command)], { env, cwd, detached: true })
  channel.on('error', () => {})
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
  channel.pipe(child.stdin)
  child.stdout.pipe(channel, { end: false })
  child.stderr.pipe(channel.stderr, { end: false })
  channel.on('close', () => closePipes(child))
  child.on('error', () => channel.close())
  child.on('close', (code, signal) => {
    if (code === null) channel.exit((signal ?? 'SIGTERM').replace('SIG', ''))
    else channel.exit(code)
    channel.end()
  })
}

function closePipes(child: ChildProcessWithoutNullStreams): void {
  child.stdin.end()
  child.stdout.destroy()
  child.stderr.destroy()
}
