/** What tests of SSH start, and end. */
import { connect } from '../connect.ts'
import type { ConnectOptions, Machine } from '../machine.ts'
import { someKey } from './keys.ts'
import { type Answer, Liar, type LiarOptions, says } from './liar.ts'
import { Sshd, type SshdOptions } from './sshd.ts'

/** One to a file. Its `end` goes to `afterEach`. */
export class Site {
  readonly secret = 'a-secret-of-this-machine-0123456789'
  readonly ours = someKey()
  readonly #ends: (() => unknown)[] = []

  async sshd(over: Partial<SshdOptions> = {}): Promise<Sshd> {
    const server = await Sshd.start({ secret: this.secret, publicKey: this.ours.public, ...over })
    this.onEnd(() => server.stop())
    return server
  }

  async liar(options: LiarOptions): Promise<Liar> {
    const server = await Liar.start(options)
    this.onEnd(() => server.stop())
    return server
  }

  /** Answers of a liar that shows the secret, and does what it likes with all other commands. */
  proved(answer: (command: string) => Answer): (command: string) => Answer {
    return command => (command.startsWith('cat ') ? says(this.secret) : answer(command))
  }

  async connect(server: { address: string; user?: string }, over: Partial<ConnectOptions> = {}): Promise<Machine> {
    const { address, user } = server
    const own = { address, user, key: this.ours.key, secret: this.secret, agent: 'test/1/1' }
    const machine = await connect({ ...own, signal: new AbortController().signal, ...over })
    this.onEnd(() => machine.close())
    return machine
  }

  onEnd(end: () => unknown): void {
    this.#ends.push(end)
  }

  end = async (): Promise<void> => {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }
}

export const errorOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => Promise.reject(new Error('it resolved')),
    error => error,
  )
