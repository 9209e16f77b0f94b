/**
 * A phase of an operation: a list of steps, under one deadline. Whoever owns the operation runs it from the step that
 * the record names; who resumed it does nothing else than who began it.
 */
import { type Clock, notNeeded } from '../base/clock.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError, refuserOf } from '../kube/client.ts'
import type { Span } from '../telemetry/tracing.ts'
import { isRefusal, StartOver, type Step, type StepContext, type StepResult } from './steps.ts'

/** The time that an operation has been given is over. */
export class DeadlinePassed extends NeedsSomeone {
  /** Whether the cluster was refusing a step when it passed. */
  readonly refused: boolean

  constructor(message: string, refused = false) {
    super(message)
    this.refused = refused
  }
}

/** The cluster has refused a step for longer than it may take to catch up. */
export class Refused extends NeedsSomeone {}

/** Whether it was the cluster's refusal that ended a phase. */
export const isByRefusal = (error: NeedsSomeone): boolean =>
  error instanceof Refused || (error instanceof DeadlinePassed && error.refused)

/** The phases of one run, one after another, each under a deadline of its own; what stops the run stops the one at hand. */
export class Phases {
  readonly #clock: Clock
  #current = new AbortController()
  #stopped: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Ends the phase at hand, and lets none begin. The first reason is the one. */
  stop(reason: Error): void {
    this.#stopped ??= reason
    this.#current.abort(reason)
  }

  /**
   * Runs a phase.
   * @param remainingMs until its deadline; may be infinite
   * @param givenMs what that was at first, for words; 0 where it has no bound
   * @throws {DeadlinePassed} through its signal
   */
  async within<T>(remainingMs: number, givenMs: number, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#stopped) throw this.#stopped
    const phase = new AbortController()
    this.#current = phase
    const done = new AbortController()
    const passed = () => phase.abort(new DeadlinePassed(`It took longer than ${Math.round(givenMs / 1000)} seconds`))
    // Redis' clock may have stepped back since the acceptance: never more than was given.
    const leftMs = givenMs > 0 ? Math.min(remainingMs, givenMs) : remainingMs
    if (leftMs <= 0) passed()
    else if (Number.isFinite(leftMs)) this.#clock.sleep(leftMs, done.signal).then(passed, () => {})
    try {
      phase.signal.throwIfAborted()
      return await body(phase.signal)
    } finally {
      done.abort(notNeeded)
    }
  }
}

export type StepOutcome = 'done' | 'failed' | 'aborted'

/** What a phase needs of the run that it is part of. */
export interface PhaseHost {
  readonly clock: Clock
  /** The span of a step, from its first attempt to its last; its requests are within it. */
  spanOf(step: Step): Span
  context(step: Step, signal: AbortSignal, span: Span): StepContext
  /** Before an act: a place in the room. Before a wait: gives it back. */
  makeRoom(kind: Step['kind'], signal: AbortSignal): Promise<void>
  /** Records what a step did, and which one is next. */
  commit(step: Step, result: Exclude<StepResult, 'nothing'>, next: Step | undefined): Promise<void>
  onStep(step: Step, seconds: number, result: StepOutcome): void
  /** A step is refused, and will be tried again for a while. */
  onRefusal(step: string, error: KubeError): Promise<void>
}

const firstRetryMs = 200
const longestRetryMs = 5_000
/** How long a refusal may be the cluster catching up. */
export const refusalGraceMs = 10_000
/** After which one that is not for want of a right is told: most of these are over by then. */
const tellRefusalMs = 2_000

export async function runPhase(
  host: PhaseHost,
  steps: readonly Step[],
  first: string,
  signal: AbortSignal,
): Promise<void> {
  const begin = steps.findIndex(step => step.name === first)
  let i = Math.max(begin, 0)
  while (i < steps.length) {
    const step = steps[i]!
    await host.makeRoom(step.kind, signal)
    const result = await timed(host, step, signal).catch(error => {
      if (error instanceof StartOver) return error
      throw error
    })
    if (result instanceof StartOver) {
      i = 0
      continue
    }
    if (result !== 'nothing') await host.commit(step, result, steps[i + 1])
    i += 1
  }
}

async function timed(host: PhaseHost, step: Step, signal: AbortSignal): Promise<StepResult> {
  const begunMs = host.clock.monotonicMs()
  const seconds = () => (host.clock.monotonicMs() - begunMs) / 1000
  const span = host.spanOf(step)
  try {
    const result = await untilDone(host, step, signal, span)
    host.onStep(step, seconds(), 'done')
    span.end()
    return result
  } catch (error) {
    host.onStep(step, seconds(), signal.aborted || error instanceof StartOver ? 'aborted' : 'failed')
    span.end({ error: error instanceof Error ? error.message : String(error) })
    throw error
  }
}

/** Runs a step again for as long as what stands in its way may pass. */
async function untilDone(host: PhaseHost, step: Step, signal: AbortSignal, span: Span): Promise<StepResult> {
  let refusedSinceMs: number | undefined
  let pauseMs = firstRetryMs
  let trouble = ''
  while (true) {
    try {
      return await step.run(host.context(step, signal, span))
    } catch (error) {
      throwIfStopped(signal, trouble, refusedSinceMs !== undefined)
      const now = host.clock.monotonicMs()
      refusedSinceMs = isRefusal(error) ? (refusedSinceMs ?? now) : undefined
      const refusedMs = refusedSinceMs === undefined ? Number.POSITIVE_INFINITY : now - refusedSinceMs
      if (error instanceof KubeError && refusedMs > refusalGraceMs) throw refused(error)
      if (!(error instanceof RetryLater || error instanceof KubeError)) throw error
      trouble = error.message
      if (error instanceof KubeError && (refuserOf(error) === 'rights' || refusedMs >= tellRefusalMs)) {
        await host.onRefusal(step.name, error)
      }
      const afterMs = error instanceof RetryLater ? error.afterMs : undefined
      const stopped = () => throwIfStopped(signal, trouble, refusedSinceMs !== undefined)
      await host.clock.sleep(afterMs ?? pauseMs, signal).catch(stopped)
      pauseMs = Math.min(pauseMs * 2, longestRetryMs)
    }
  }
}

/** A deadline that passes while something stood in the way is told with that. */
function throwIfStopped(signal: AbortSignal, trouble: string, isRefused: boolean): void {
  if (signal.reason instanceof DeadlinePassed && trouble !== '') {
    throw new DeadlinePassed(`${signal.reason.message} (at last: ${trouble})`, isRefused)
  }
  signal.throwIfAborted()
}

function refused(error: KubeError): Refused {
  return new Refused(`The cluster refused what the lab needs: ${error.message}`, { cause: error })
}
