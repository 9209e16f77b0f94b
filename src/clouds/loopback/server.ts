/** The SSH server of a loopback machine: one key may log in, and run commands by `sh -c`. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'
import { newKey } from '../../ssh/new-key.ts'

export interface Host {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** Gives commands the machine's own places. */
  readonly rewrite: (command: string) => string
}

/** @returns the port on 127.0.0.1 */
export function serveSsh(authorizedKey: string, host: Host): Promise<number> {
  const authorized = ssh2.utils.parseKey(authorizedKey)
  if (authorized instanceof Error) throw authorized
  // As in a cloud: made at its first start.
  const hostKey = newKey().private
  const server = new ssh2.Server({ hostKeys: [hostKey] }, client => {
    // A packet is three writes, and the second would wait for the other side's acknowledgement.
    ;(client as unknown as Pick<ssh2.Client, 'setNoDelay'>).setNoDelay()
    client.on('error', () => {})
    client.on('authentication', context => (isAuthorized(context, authorized) ? context.accept() : context.reject()))
    client.on('session', accept => {
      accept().on('exec', (acceptExec, _reject, { command }) => run(acceptExec(), host.rewrite(command), host))
    })
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
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

/** As sshd does it: whoever leaves closes the command's pipes, and ends nothing. */
function run(channel: ssh2.ServerChannel, command: string, { env, cwd }: Host): void {
  const child = spawn('/bin/sh', ['-c', command], { env, cwd, detached: true })
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
