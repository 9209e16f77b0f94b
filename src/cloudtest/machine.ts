/** A test's steps at its machine: proof, boot, runner, and one small command. The pieces are those of keepers. */
import type { Clock } from '../base/clock.ts'
import { unlessAborted } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import { cleanLastLines } from '../base/text.ts'
import type { Entry, RunEnd, Warrant } from '../dispatch/protocol.ts'
import type { MachineParts } from '../machines/shape.ts'
import { Refused, Unreachable, WrongSecret } from '../ssh/errors.ts'
import type { Installed, Machine } from '../ssh/machine.ts'
import { NotYet, type Steps } from './steps.ts'

export type Reach = Pick<MachineParts, 'connect' | 'program' | 'bootProbe' | 'runnerEnv' | 'link'>

/** Nobody else has spoken to this machine. */
const epoch = 1

/** Another secret is another machine: no wait helps. */
const isPassing = (error: unknown) =>
  error instanceof Unreachable ||
  error instanceof Refused ||
  error instanceof NotYet ||
  error instanceof RetryLater ||
  (error instanceof WrongSecret && error.answer === 'none')

export class TestedMachine {
  readonly #reach: Reach
  readonly #steps: Steps
  readonly #clock: Clock
  readonly #secret: string
  #machine: Machine | undefined

  constructor(parts: { readonly reach: Reach; readonly steps: Steps; readonly clock: Clock; readonly secret: string }) {
    this.#reach = parts.reach
    this.#steps = parts.steps
    this.#clock = parts.clock
    this.#secret = parts.secret
  }

  /** Logs in by our key, and has the machine prove itself by its secret. @returns its host key */
  async connect(address: string, untilMs: number, signal: AbortSignal): Promise<string> {
    const secret = this.#secret
    const connect = () => this.#reach.connect({ address, secret, agent: 'cloudtest', signal })
    this.#machine = await this.#steps.until(untilMs, signal, isPassing, connect)
    return this.#machine.hostKey
  }

  async boot(untilMs: number, signal: AbortSignal): Promise<void> {
    await this.#steps.until(untilMs, signal, isPassing, async () => {
      const { isReady, words } = await this.#machine!.probe(this.#reach.bootProbe, { signal })
      if (!isReady) throw new NotYet(`BootProbeCommand fails: ${words}`)
    })
  }

  async install(untilMs: number, signal: AbortSignal): Promise<Installed> {
    const { program } = this.#reach
    return this.#steps.until(untilMs, signal, isPassing, async () =>
      this.#machine!.install(await program(), { signal }),
    )
  }

  /** @returns what the command wrote. @throws with its last words where it does not end with exit code 0 in time */
  async run({ command }: Installed, warrant: Warrant, limitMs: number, signal: AbortSignal): Promise<string> {
    const { runnerEnv, link: open } = this.#reach
    const channel = await this.#machine!.channel(`${runnerEnv} ${command} runner attach`, { signal })
    const heard = new Heard()
    const link = await open(
      channel,
      epoch,
      { secret: this.#secret },
      {
        onBeat: () => {},
        onEntry: (uuid, run, seq, entry) => {
          if (uuid === warrant.uuid) heard.take(entry)
          link.ack(uuid, run, seq)
        },
      },
    )
    const lost = () => heard.ended.reject(link.ended.reason)
    link.ended.addEventListener('abort', lost, { once: true })
    const cancel = this.#clock.after(limitMs, () => heard.ended.reject(new Error('the command does not end')))
    try {
      const { broken } = await link.list()
      if (broken !== undefined) throw new Error(`the runner is broken: ${broken}`)
      const answer = await link.start(warrant)
      if (answer !== 'started') throw new Error(`the runner refuses (${answer.refused}): ${answer.message}`)
      return heard.outcome(await unlessAborted(heard.ended.promise, signal))
    } finally {
      cancel()
      link.ended.removeEventListener('abort', lost)
      heard.ended.promise.catch(() => {})
      link.close()
    }
  }

  close(): void {
    this.#machine?.close()
  }
}

const keptCharacters = 8_192

/** Gathers the words of a run: its output and its end. */
class Heard {
  readonly ended = Promise.withResolvers<RunEnd>()
  #output = ''

  take(entry: Entry): void {
    if (entry.kind === 'output')
      this.#output = (this.#output + Buffer.from(entry.base64, 'base64').toString()).slice(-keptCharacters)
    if (entry.kind === 'ended') this.ended.resolve(entry.end)
  }

  outcome({ exitCode, reason }: RunEnd): string {
    const output = cleanLastLines(this.#output)
    if (exitCode === 0) return output
    const how = exitCode === undefined ? (reason ?? 'it has no exit code') : `it ended with exit code ${exitCode}`
    throw new Error(output === '' ? how : `${how}: ${output}`)
  }
}
