/** Debian's OpenSSH as a machine: one `sshd -i` for each connection. Its files are in a folder of the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../../dev/process/command.ts'
import { someKey } from './keys.ts'

export interface SshdOptions {
  /** Content of the secret's file. Undefined: there is none. */
  readonly secret?: string | undefined
  /** In OpenSSH's form. */
  readonly publicKey: string
  /** Lines for its configuration. */
  readonly config?: readonly string[]
  /** The only programs that commands find. Default: all. */
  readonly tools?: readonly string[]
  /** Runs `sshd` with its arguments: `unshare` and what it needs. Default: none. */
  readonly wrap?: (folder: string) => readonly string[]
  readonly port?: number
}

export class Sshd {
  readonly folder: string
  readonly address: string
  readonly port: number
  readonly user = userInfo().username
  /** Of each connection, in order: bytes that it received. */
  readonly received: number[] = []
  readonly #server: Server
  readonly #children = new Set<ChildProcess>()
  readonly #sockets = new Set<Socket>()

  private constructor(folder: string, server: Server, command: readonly string[]) {
    this.folder = folder
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.address = `127.0.0.1:${this.port}`
    server.on('connection', socket => this.#serve(socket, command))
  }

  static async start(options: SshdOptions): Promise<Sshd> {
    // Of a path without links: sshd looks at the owners of all folders above its files.
    const folder = mkdtempSync(join(tmpdir(), 'skylab-sshd-'))
    const config = writeSshdFiles(folder, options)
    const sshd = findProgram('sshd')
    if (!sshd) throw new Error('no sshd here: apt-get install openssh-server')
    const server = createServer({ noDelay: true })
    await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
    return new Sshd(folder, server, [...(options.wrap?.(folder) ?? []), sshd, '-i', '-e', '-f', config])
  }

  writeSecret(secret: string): void {
    writeFileSync(join(this.folder, 'secret'), secret)
  }

  /** The network between is cut, or the machine is off: nothing is said any more. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Nothing is said or heard any more, and nothing closed. */
  freeze(): void {
    for (const socket of this.#sockets) {
      socket.unpipe()
      socket.removeAllListeners('data')
      socket.pause()
    }
    for (const child of this.#children) child.stdout?.unpipe()
  }

  get connections(): number {
    return this.#sockets.size
  }

  async stop(): Promise<void> {
    this.cut()
    await Promise.all([...this.#children].map(child => new Promise(resolve => child.once('exit', resolve))))
    await new Promise(resolve => this.#server.close(resolve))
    rmSync(this.folder, { recursive: true, force: true })
  }

  #serve(socket: Socket, [command = '', ...args]: readonly string[]): void {
    const index = this.received.push(0) - 1
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    this.#children.add(child)
    this.#sockets.add(socket)
    socket.on('data', chunk => {
      this.received[index]! += chunk.length
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      // It ends its sessions then.
      child.stdin.end()
      child.stdout.destroy()
    })
    child.on('exit', () => {
      this.#children.delete(child)
      socket.destroy()
    })
    child.stdin.on('error', () => {})
    socket.pipe(child.stdin)
    child.stdout.pipe(socket)
  }
}

/** @returns the path of its configuration */
export function writeSshdFiles(folder: string, { secret, publicKey, config = [], tools }: SshdOptions): string {
  // As root, OpenSSH wants this folder of its package, which no init made in containers.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const at = (name: string) => join(folder, name)
  writeFileSync(at('host_key'), someKey().private, { mode: 0o600 })
  writeFileSync(at('authorized_keys'), `${publicKey}\n`, { mode: 0o600 })
  if (secret !== undefined) writeFileSync(at('secret'), secret)
  if (tools) linkTools(at('bin'), tools)
  writeFileSync(at('command'), commandOf(folder, tools !== undefined))
  chmodSync(at('command'), 0o755)
  const lines = [
    // Of a line that comes twice, the first one counts.
    ...config,
    ...[`HostKey ${at('host_key')}`, `AuthorizedKeysFile ${at('authorized_keys')}`, 'PidFile none', 'UsePAM no'],
    ...['StrictModes no', 'PasswordAuthentication no', 'KbdInteractiveAuthentication no', 'PermitRootLogin yes'],
    // Bash reads no ~/.bashrc then, which may take half a second.
    ...[`ForceCommand ${at('command')}`, 'MaxSessions 100', 'SetEnv SHLVL=2'],
  ]
  writeFileSync(at('config'), `${lines.join('\n')}\n`)
  return at('config')
}

/** Machines have the secret at a path of the whole machine; a test's is in its folder. */
const commandOf = (folder: string, hasTools: boolean) => `#!/bin/sh
${hasTools ? `export PATH=${folder}/bin` : ''}
case $SSH_ORIGINAL_COMMAND in
'cat /var/run/arvados-instance-secret') exec cat ${folder}/secret ;;
*) exec /bin/sh -c "$SSH_ORIGINAL_COMMAND" ;;
esac
`

function linkTools(bin: string, tools: readonly string[]): void {
  mkdirSync(bin)
  for (const tool of tools) {
    const path = findProgram(tool)
    if (path && existsSync(path)) symlinkSync(path, join(bin, tool))
  }
}
