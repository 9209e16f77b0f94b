/** One command that a person began in a container, on a channel of SSH. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { constants } from 'node:os'
import type { ServerChannel } from 'ssh2'
import type { Inside } from '../engines/engine.ts'
import { resize, type Size } from '../engines/terminal.ts'

export interface CommandParts {
  readonly inside: Inside
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly size: Size | undefined
}

const notFound = 127

export class Command {
  readonly #channel: ServerChannel
  readonly #hasTerminal: boolean
  #child: ChildProcessWithoutNullStreams | undefined

  constructor(channel: ServerChannel, { inside, words, environment, size }: CommandParts) {
    this.#channel = channel
    this.#hasTerminal = size !== undefined
    channel.on('error', () => {})
    channel.stderr.on('error', () => {})
    channel.once('close', () => this.hangUp())
    try {
      this.#join(inside({ command: words, environment, size }))
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  resize(size: Size): void {
    const pid = this.#child?.pid
    if (this.#hasTerminal && pid !== undefined) resize(pid, size)
  }

  /** @param name without `SIG` */
  signal(name: string): void {
    const signal = `SIG${name}` as NodeJS.Signals
    if (signal in constants.signals) this.#kill(signal)
  }

  /** As when a terminal is closed. */
  hangUp(): void {
    this.#kill('SIGHUP')
    this.#child?.stdout.destroy()
    this.#child?.stderr.destroy()
  }

  #join(child: ChildProcessWithoutNullStreams): void {
    const channel = this.#channel
    this.#child = child
    for (const stream of child.stdio) stream?.on('error', () => {})
    channel.pipe(child.stdin)
    child.stdout.pipe(channel, { end: false })
    child.stderr.pipe(channel.stderr, { end: false })
    child.on('error', error => this.#failed(error))
    // When all of its output was read, too.
    child.on('close', (code, signal) => {
      if (code !== null) channel.exit(code)
      else if (signal) channel.exit(signal.slice(3), false, '')
      channel.end()
    })
  }

  #failed({ message }: Error): void {
    this.#channel.stderr.write(`${message}\r\n`)
    this.#channel.exit(notFound)
    this.#channel.end()
  }

  #kill(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child ?? {}
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    try {
      process.kill(-pid, signal)
    } catch {
      // It has ended.
    }
  }
}
