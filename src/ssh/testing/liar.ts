/** An SSH server that lies, on loopback. It keeps all that it was sent. */
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'
import { someKey } from './keys.ts'

export type Answer = (channel: ssh2.ServerChannel, liar: Liar) => void

export interface LiarOptions {
  /** To each command. Default: nothing is ever said. */
  readonly answer?: (command: string) => Answer
  /** In OpenSSH's form. Default: a new one. */
  readonly hostKey?: string
  readonly port?: number
  readonly algorithms?: ssh2.Algorithms
  /** Whether our key is taken. Default true. */
  readonly accepts?: boolean
}

export const says =
  (text: string, exitCode = 0): Answer =>
  channel => {
    channel.write(text)
    channel.exit(exitCode)
    channel.end()
  }

export const silence: Answer = () => {}

/** The question whether the other side is there. ssh2 answers it by itself. */
export const keepalive = 'keepalive@openssh.com'
const inbound = `Inbound: GLOBAL_REQUEST (${keepalive})`

export class Liar {
  /** In order: `login USER`, `exec COMMAND`, and any other request by its name. */
  readonly asked: string[] = []
  /** Bytes that commands received as their input. */
  inputBytes = 0
  agents: string[] = []
  port = 0
  readonly #server: ssh2.Server
  readonly #clients = new Set<ssh2.Connection>()

  private constructor(options: LiarOptions) {
    const { answer = () => silence, hostKey = someKey().private, algorithms, accepts = true } = options
    const debug = (words: string) => void (words.endsWith(inbound) && this.asked.push(keepalive))
    const config = { hostKeys: [hostKey], debug, ...(algorithms && { algorithms }) }
    this.#server = new ssh2.Server(config, (client, info) => {
      this.agents.push(info.header.comments ?? '')
      this.#serve(client, answer, accepts)
    })
  }

  static async start(options: LiarOptions = {}): Promise<Liar> {
    const liar = new Liar(options)
    await new Promise<void>(resolve => liar.#server.listen(options.port ?? 0, '127.0.0.1', resolve))
    liar.port = (liar.#server.address() as AddressInfo).port
    return liar
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Open connections. */
  get connections(): number {
    return this.#clients.size
  }

  cut(): void {
    for (const client of this.#clients) client.end()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #serve(client: ssh2.Connection, answer: (command: string) => Answer, accepts: boolean): void {
    this.#clients.add(client)
    // Each packet is three writes, and the second would wait for the other side's acknowledgement.
    ;(client as unknown as Pick<ssh2.Client, 'setNoDelay'>).setNoDelay()
    client.on('close', () => this.#clients.delete(client))
    client.on('error', () => {})
    client.on('authentication', context => {
      this.asked.push(`login ${context.username} ${context.method}`)
      if (accepts && context.method === 'publickey') context.accept()
      else context.reject()
    })
    client.on('request', (_accept, reject, name) => {
      this.asked.push(`request ${name}`)
      reject?.()
    })
    client.on('session', accept => this.#session(accept(), answer))
  }

  #session(session: ssh2.Session, answer: (command: string) => Answer): void {
    session.on('exec', (accept, _reject, { command }) => {
      this.asked.push(`exec ${command}`)
      const channel = accept()
      channel.on('data', (chunk: Buffer) => {
        this.inputBytes += chunk.length
      })
      channel.on('error', () => {})
      answer(command)(channel, this)
    })
    for (const name of ['pty', 'shell', 'env', 'sftp', 'auth-agent', 'x11', 'signal'] as const) {
      session.on(name as 'shell', (_accept: unknown, reject: (() => void) | undefined) => {
        this.asked.push(name)
        reject?.()
      })
    }
  }
}
