/** Runs programs of a bench as processes, so that the processor time of each is counted separately. */
import { type ChildProcess, fork } from 'node:child_process'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { marker } from '../../dev/process/process.ts'

export interface WorkerOptions {
  /** A module that calls `answerQuestions`. */
  readonly file: URL
  /** The folder of an open run; the process ends with the run at the latest. */
  readonly stateDir: string
  /** Options of Node. */
  readonly nodeArgs: readonly string[]
}

type Reply = { readonly value: unknown } | { readonly failure: string }

/** A child that answers one question after another. */
export class Worker {
  readonly #file: string
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  constructor({ file, stateDir, nodeArgs }: WorkerOptions) {
    this.#file = basename(file.pathname)
    this.#child = fork(fileURLToPath(file), {
      env: { [marker]: stateDir },
      execArgv: [...nodeArgs],
      serialization: 'advanced',
      detached: true,
    })
    this.#ended = new Promise((_, reject) => {
      this.#child.once('exit', (code, signal) => reject(new Error(`${file} has ended (${code ?? signal})`)))
    })
    this.#ended.catch(() => {})
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Rejects with the child's error message, or when it ends without one. */
  async ask<T>(question: object): Promise<T> {
    const answered = new Promise<Reply>(resolve => this.#child.once('message', resolve as (reply: unknown) => void))
    this.#child.send(question)
    const reply = await Promise.race([answered, this.#ended])
    if ('failure' in reply) throw new Error(`${this.#file}: ${reply.failure}`)
    return reply.value as T
  }

  /** Ends it; resolves when it has ended. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#ended.catch(() => {})
  }
}

/** In the child: answers each question until the parent has ended. */
export function answerQuestions<Q>(answer: (question: Q) => Promise<unknown>): void {
  process.on('message', question => {
    answer(question as Q).then(
      value => process.send!({ value } satisfies Reply),
      error => process.send!({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
