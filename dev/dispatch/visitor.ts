/** Somebody inside a running container: one shell that stays open, by the system's `ssh`, and questions to its HTTP port. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { prefixes } from '../../src/api/dispatch/parts.ts'
import { shellVariables } from '../../src/cli/shell.ts'
import { marker } from '../process/process.ts'

export interface VisitorOptions {
  /** Of a replica. */
  readonly url: string
  readonly token: string
  readonly uuid: string
  /** Where a program in the container listens. */
  readonly port: number
  /** Of `skylab`. */
  readonly program: string
  /** The folder of the run, which ends what is left. */
  readonly stateDir: string
  /** Of all that it does. */
  readonly signal: AbortSignal
}

/** What both ways say. */
export interface Heard {
  readonly shell: string
  readonly http: string
}

/** Says back what it reads, and which run of which container it is in. */
const loop = 'while read -r word; do echo "$word $SKYLAB_CONTAINER_UUID $SKYLAB_CONTAINER_RUN"; done'

export class Visitor {
  readonly #options: VisitorOptions
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  #said = ''

  constructor(options: VisitorOptions) {
    this.#options = options
    const { program, uuid, url, token, stateDir, signal } = options
    const env = { PATH: process.env.PATH, [shellVariables.url]: url, [shellVariables.token]: token, [marker]: stateDir }
    this.#child = spawn(process.execPath, [program, 'shell', uuid, loop], { env, signal })
    this.#child.on('error', () => {})
    this.#child.stdin.on('error', () => {})
    this.#child.stderr.on('data', chunk => {
      this.#said += chunk
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** @throws when one of both ways is closed */
  async ask(word: string): Promise<Heard> {
    const [shell, http] = await Promise.all([this.#askShell(word), this.#askPort()])
    return { shell, http }
  }

  close(): void {
    this.#child.kill()
  }

  async #askShell(word: string): Promise<string> {
    this.#child.stdin.write(`${word}\n`)
    const { value, done } = await this.#lines.next()
    if (done) throw new Error(`the shell has ended: ${this.#said.trim() || 'without a word'}`)
    return value
  }

  async #askPort(): Promise<string> {
    const { url, token, uuid, port, signal } = this.#options
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}${prefixes.user}/containers/${uuid}/ports/${port}/`, { headers, signal })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`the port is answered ${answer.status}: ${text}`)
    return text.trim()
  }
}
