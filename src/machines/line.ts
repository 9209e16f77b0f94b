/**
 * The line to a machine: one SSH connection with one channel to the runner, made again whenever it ends. It proves the machine
 * by its secret, waits until it has booted, installs the runner, and says its epoch. It keeps no state of containers.
 */
import { type Backoff, backoffMs } from '../base/backoff.ts'
import { notNeeded } from '../base/clock.ts'
import { isUnavailable } from '../base/errors.ts'
import { type MachineBrief, sentOf } from '../dispatch/container.ts'
import { endedByCloud } from '../dispatch/endings.ts'
import { MachineLacks, Refused, Unreachable, WrongSecret } from '../ssh/errors.ts'
import type { Machine } from '../ssh/machine.ts'
import type { MachineFacts } from '../store/dispatch/keeping.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { within } from '../telemetry/tracing.ts'
import { EpochPassed } from './epoch.ts'
import type { LinkHandlers, RunnerLink } from './ports.ts'
import type { MachineContext, MachineTimes } from './shape.ts'

export interface LineHandlers extends LinkHandlers {
  /** A channel is being made: its first entries may come at once. */
  onOpening(): void
  /** The runner listens, and nobody knows it yet. Rejects where the line is of no use. */
  onOpen(link: RunnerLink): Promise<void>
  /** Something has changed, for the keeper to look at. */
  onChange(): void
}

/** A machine that boots is asked at least once in each interval of probes. */
const backoffOf = ({ probeMs }: MachineTimes): Backoff => ({
  baseMs: Math.min(500, probeMs),
  capMs: Math.min(10_000, probeMs),
})
const troubleWords = { trouble: 'a machine cannot be reached', over: 'a machine is reached again' }

export class Line {
  readonly #context: MachineContext
  readonly #handlers: LineHandlers
  readonly #closed = new AbortController()
  readonly #rarely: Rarely
  #link: RunnerLink | undefined
  #running: Promise<void> | undefined
  #wasOpen = false
  /** When it was first reached, by our clock. */
  #reachedMs: number | undefined
  /** Since when the machine cannot be reached, by our clock; undefined while it is. */
  #awaySinceMs: number | undefined
  #defect: unknown

  constructor(context: MachineContext, handlers: LineHandlers) {
    const { clock } = context
    this.#context = context
    this.#handlers = handlers
    this.#awaySinceMs = clock.monotonicMs()
    this.#rarely = new Rarely({ ...troubleWords, clock, log: context.call().log, tolerated: 5 })
  }

  /** The channel, while there is one. */
  get link(): RunnerLink | undefined {
    return this.#link
  }

  /** Whether there was a channel. */
  get wasOpen(): boolean {
    return this.#wasOpen
  }

  /** How long it has had no channel; 0 while it has. */
  get awayMs(): number {
    return this.#awaySinceMs === undefined ? 0 : this.#context.clock.monotonicMs() - this.#awaySinceMs
  }

  /** Why it was last without a channel. */
  get reason(): string {
    return this.#rarely.reason ?? 'it was not reached yet'
  }

  /** The channel does not serve: another one is made. @throws what no other channel mends */
  failed(error: unknown): void {
    if (!(error instanceof Unreachable)) throw error
    this.#link?.close()
    this.#link = undefined
  }

  open(): void {
    const stop = () => this.#closed.abort(this.#context.signal.reason)
    this.#context.signal.addEventListener('abort', stop, { once: true })
    this.#running = this.#run().finally(() => this.#context.signal.removeEventListener('abort', stop))
  }

  /** @throws what ended it for good: a later epoch, or a defect */
  check(): void {
    if (this.#defect !== undefined) throw this.#defect
  }

  async close(): Promise<void> {
    this.#closed.abort(notNeeded)
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, parts } = this.#context
    const { signal } = this.#closed
    const backoff = backoffOf(parts.times)
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        if (await this.#serveOnce()) failures = 1
      } catch (error) {
        if (signal.aborted) return
        if (!isPassing(error)) {
          this.#defect = error
          return this.#handlers.onChange()
        }
        this.#rarely.failed(error.message)
        if (error instanceof MachineLacks) await this.#giveUp(error).catch(() => {})
      }
      this.#handlers.onChange()
      await clock.sleep(backoffMs(failures, backoff), signal).catch(() => {})
    }
  }

  /** Only another image helps: the scheduler ends this machine, unless it is on hold. */
  async #giveUp({ message }: MachineLacks): Promise<void> {
    await this.#context.keeping.keep({ broken: message })
    await this.#context.report([['error', message]])
  }

  /** @returns whether there was a channel */
  async #serveOnce(): Promise<boolean> {
    const { parts, clock, keeping } = this.#context
    const { brief, facts, nowMs } = await keeping.read()
    const readMs = clock.monotonicMs()
    // A broken machine may still tell the end of what it runs.
    const isUseless = brief.broken !== '' && sentOf(brief).length === 0
    if (brief.ending !== '' || isUseless) return false
    const machine = await this.#connect(brief, facts)
    const isBooting = brief.state === 'booting'
    const reachedMs = clock.monotonicMs()
    this.#reachedMs ??= reachedMs
    if (isBooting && facts.hostKey === '') parts.sight.reached((nowMs - brief.createdMs + reachedMs - readMs) / 1000)
    try {
      // A machine that has run containers is asked for them, whatever else has failed there.
      if (isBooting && !(await this.#hasBooted(machine))) return false
      await this.#attach(machine, () => {
        if (brief.probedMs === 0) parts.sight.booted('success')
        if (isBooting) parts.sight.ready((clock.monotonicMs() - this.#reachedMs!) / 1000)
      })
      return true
    } finally {
      this.#link = undefined
      this.#awaySinceMs ??= clock.monotonicMs()
      machine.close()
    }
  }

  async #connect(brief: MachineBrief, { hostKey }: MachineFacts): Promise<Machine> {
    const { parts, keeping, plan, call } = this.#context
    const { agent } = call()
    const address = brief.address || (await this.#findAddress(brief))
    const machine = await within(call().span, 'connect', {}, () =>
      parts.connect({
        ...{ address, agent, signal: this.#closed.signal },
        ...('secret' in plan! ? { secret: plan.secret } : { secret: plan!.digest, digest: parts.digest(plan!.digest) }),
        ...(hostKey !== '' && { pinned: hostKey }),
      }),
    )
    if (machine.hostKey !== hostKey) {
      await keeping.keep({ hostKey: machine.hostKey })
      await this.#tag(brief.instance, machine.hostKey)
      if (machine.changed)
        await this.#context.report([['error', 'The machine has another host key, and its own secret']])
    }
    return machine
  }

  /** Without the tag, a replica that knows nothing any more asks for the secret again: no harm. */
  async #tag(id: string, hostKey: string): Promise<void> {
    const { parts, call } = this.#context
    const how = { ...call(), signal: this.#closed.signal }
    const asked = parts.cloud.call('setTags', how, driver => driver.setTags(id, { [parts.pinTag]: hostKey }, how))
    await asked.catch(err => this.#context.call().log.warn({ err }, 'a host key is not in the tags of its machine'))
  }

  async #findAddress(brief: MachineBrief): Promise<string> {
    const { parts, keeping, call } = this.#context
    const listed = (await parts.cloud.list({ ...call(), signal: this.#closed.signal })).find(
      ({ id }) => id === brief.instance,
    )
    if (listed?.state === 'gone') await keeping.keep({ ending: endedByCloud })
    if (!listed?.address) throw new Unreachable('the cloud has not given it an address yet')
    await keeping.keep({ address: listed.address })
    return listed.address
  }

  async #hasBooted(machine: Machine): Promise<boolean> {
    const probe = await machine.probe(this.#context.parts.bootProbe, { signal: this.#closed.signal })
    if (!probe.isReady) throw new Unreachable(`it has not booted yet: ${probe.words}`)
    return true
  }

  /** Resolves when the channel has ended. */
  async #attach(machine: Machine, onOpen: () => void): Promise<void> {
    const { parts, epoch, plan, call } = this.#context
    const { signal } = this.#closed
    const program = await parts.program()
    const installed = await within(call().span, 'install', {}, () => machine.install(program, { signal }))
    const channel = await machine.channel(`${parts.runnerEnv} ${installed.command} runner attach`, { signal })
    this.#handlers.onOpening()
    const link = await parts.link(channel, epoch!, plan!, this.#handlers)
    try {
      await this.#handlers.onOpen(link)
      this.#link = link
      this.#wasOpen = true
      onOpen()
      this.#awaySinceMs = undefined
      this.#rarely.worked()
      this.#handlers.onChange()
      await aborted(AbortSignal.any([link.ended, machine.ended, signal]))
    } finally {
      link.close()
    }
  }
}

/** Whether a later attempt may succeed. A machine that lacks something is shown as such, and stays so. */
function isPassing(error: unknown): error is Error {
  if (error instanceof EpochPassed) return false
  if (error instanceof Unreachable || error instanceof WrongSecret || error instanceof Refused) return true
  return isUnavailable(error) || error instanceof MachineLacks
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
