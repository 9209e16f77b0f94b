/** One channel of a keeper to a machine that is played. */
import { loadavg } from 'node:os'
import type { ServerChannel } from 'ssh2'
import type { Entry, FromRunner, Warrant } from '../../src/dispatch/protocol.ts'

export class Session {
  readonly #channel: ServerChannel
  readonly #beatMs: number
  readonly #health: () => { readonly broken: string | undefined } | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param health what a beat says; undefined: there is none */
  constructor(
    channel: ServerChannel,
    beatMs: number,
    health: () => { readonly broken: string | undefined } | undefined,
  ) {
    this.#channel = channel
    this.#beatMs = beatMs
    this.#health = health
  }

  say(words: FromRunner): void {
    if (!this.#isClosed) this.#channel.write(`${JSON.stringify(words)}\n`)
  }

  tell({ uuid, run }: Warrant, seq: number, entry: Entry): void {
    this.say({ type: 'entry', uuid, run, seq, entry })
  }

  beat(): void {
    this.#timer ??= setInterval(() => {
      const health = this.#health()
      if (health) this.say({ type: 'beat', atMs: Date.now(), load: loadavg()[0]!, ...this.#brokenOf(health) })
    }, this.#beatMs)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#channel.exit(0)
    this.#channel.end()
  }

  #brokenOf = ({ broken }: { readonly broken: string | undefined }) => (broken === undefined ? {} : { broken })
}
