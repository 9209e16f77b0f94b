/** Another machine at the address of one of ours: it lets anybody in, and notes all that it is asked for and sent. */
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'
import { newKey } from '../../../src/ssh/new-key.ts'

export class Impostor {
  /** Commands that it was asked to run, in order. */
  readonly commands: string[] = []
  /** Of the input of these commands. */
  bytes = 0
  /** Logins that came so far. */
  logins = 0
  readonly #server: ssh2.Server
  readonly #clients = new Set<ssh2.Connection>()

  /** @param secret what it says when it is asked for the secret */
  constructor(secret: string) {
    this.#server = new ssh2.Server({ hostKeys: [newKey().private] }, client => {
      this.#clients.add(client)
      client.on('error', () => {})
      client.on('close', () => this.#clients.delete(client))
      client.on('authentication', context => context.accept())
      client.on('ready', () => {
        this.logins += 1
      })
      client.on('session', accept => {
        accept().on('exec', (acceptExec, _reject, { command }) => {
          this.commands.push(command)
          const channel = acceptExec()
          channel.on('data', (data: Buffer) => {
            this.bytes += data.length
          })
          channel.on('error', () => {})
          channel.write(`${secret}\n`)
          channel.exit(0)
          channel.end()
        })
      })
    })
  }

  /** @returns its address */
  async listen(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    for (const client of this.#clients) client.end()
    this.#server.close()
  }
}
