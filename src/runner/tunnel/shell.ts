/**
 * The SSH server of one run, for streams that have shown the key of the run: it asks for no password. It begins commands in the
 * container, and connects to its ports. It stores nothing, and its host key lives as long as the run.
 */
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import ssh2, { type AuthContext, type Connection, type ServerChannel, type Session, type TcpipRequestInfo } from 'ssh2'
import { newKey } from '../../ssh/new-key.ts'
import type { Inside } from '../engines/engine.ts'
import { sizeOf } from '../engines/terminal.ts'
import { Command } from './command.ts'
import { splice } from './splice.ts'

export interface ShellParts {
  readonly inside: Inside
  /** Connects to a port of the container. Rejects with words for people. */
  readonly reach: (port: number) => Promise<Socket>
}

/** Sessions of one connection. */
const mostSessions = 16
const mostVariables = 32
/** Variables that a client may set: its terminal and its language. */
const variableForm = /^(LANG|LC_[A-Z]+|TERM|COLORTERM)$/
const valueForm = /^[\x20-\x7e]{0,128}$/
const shell = ['sh', '-c', 'exec "$(command -v bash || echo sh)"']
const local = new Set(['localhost', '127.0.0.1', '::1'])

export class Shell {
  readonly #parts: ShellParts
  readonly #ssh: ssh2.Server
  /** Reads the request for SSH, and gives the stream on. */
  readonly #http = createServer()

  constructor(parts: ShellParts) {
    this.#parts = parts
    this.#ssh = new ssh2.Server({ hostKeys: [newKey().private] }, client => this.#serve(client))
    this.#http.on('upgrade', (_, socket, head) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ssh\r\n\r\n')
      if (head.length > 0) socket.unshift(head)
      this.#ssh.injectSocket(socket as Socket)
    })
    this.#http.on('request', (_, response) => response.writeHead(426, { Connection: 'close' }).end())
  }

  /** Serves a stream that has shown the key. */
  serve(stream: Socket): void {
    this.#http.emit('connection', stream)
  }

  #serve(client: Connection): void {
    let sessions = 0
    let isGone = false
    client.on('error', () => {})
    client.on('close', () => {
      isGone = true
    })
    client.on('authentication', (context: AuthContext) => context.accept())
    client.on('session', (accept, reject) => {
      if (sessions >= mostSessions) return void reject()
      sessions += 1
      const session = accept()
      session.on('close', () => {
        sessions -= 1
      })
      this.#session(session)
    })
    client.on('tcpip', (accept, reject, info) => void this.#forward(accept, reject, info, () => isGone))
  }

  #session(session: Session): void {
    const environment: Record<string, string> = {}
    let size: ReturnType<typeof sizeOf> | undefined
    let command: Command | undefined
    session.on('env', (accept, reject, { key, val }) => {
      const isTaken = variableForm.test(key) && valueForm.test(val) && Object.keys(environment).length < mostVariables
      if (isTaken) environment[key] = val
      if (isTaken) accept?.()
      else reject?.()
    })
    session.on('pty', (accept, _, info) => {
      size = sizeOf(info.cols, info.rows)
      // ssh2's types leave it out.
      const { term = 'dumb' } = info as { term?: string }
      if (valueForm.test(term)) environment.TERM = term
      accept?.()
    })
    session.on('window-change', (accept, _, { cols, rows }) => {
      size = sizeOf(cols, rows)
      command?.resize(size)
      accept?.()
    })
    session.on('signal', (accept, _, { name }) => {
      command?.signal(name)
      accept?.()
    })
    const begin = (accept: () => ServerChannel, reject: () => void, words: readonly string[]) => {
      if (command) return void reject?.()
      command = this.#begin(accept(), words, environment, size)
    }
    session.on('shell', (accept, reject) => begin(accept, reject, shell))
    session.on('exec', (accept, reject, info) => begin(accept, reject, ['sh', '-c', info.command]))
  }

  #begin(
    channel: ServerChannel,
    words: readonly string[],
    environment: Readonly<Record<string, string>>,
    size: ReturnType<typeof sizeOf> | undefined,
  ): Command {
    return new Command(channel, { inside: this.#parts.inside, words, environment, size })
  }

  async #forward(
    accept: () => ServerChannel,
    reject: () => void,
    info: TcpipRequestInfo,
    isGone: () => boolean,
  ): Promise<void> {
    try {
      if (!local.has(info.destIP)) return void reject()
      const socket = await this.#parts.reach(info.destPort)
      if (isGone()) return void socket.destroy()
      splice(accept(), socket)
    } catch {
      reject()
    }
  }
}
