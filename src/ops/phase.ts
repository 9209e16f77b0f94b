/**
 * A phase of an operation: a list of steps under one deadline. The owner runs it from the step that the record names, in
 * the same way whether it began or resumed the operation.
 */
import { type Clock, notNeeded } from '../base/clock.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError, refuserOf } from '../kube/client.ts'
import type { Span } from '../telemetry/tracing.ts'
import { isRefusal, ObjectRefused, type Shape, StartOver, type Step, type StepResult } from './steps.ts'

/** The deadline of an operation has passed. */
export class DeadlinePassed extends NeedsSomeone {
  /** True if the cluster was refusing a step when the deadline passed. */
  readonly refused: boolean

  constructor(message: string, refused = false) {
    super(message)
    this.refused = refused
  }
}

/** The cluster has refused a step for longer than it needs to catch up. */
export class Refused extends NeedsSomeone {}

/** True if a refusal by the cluster ended the phase. */
export const isByRefusal = (error: NeedsSomeone): boolean =>
  error instanceof Refused || (error instanceof DeadlinePassed && error.refused)

/** The phases of one run, one after another, each with its own deadline. Stopping the run stops the current phase. */
export class Phases {
  readonly #clock: Clock
  #current = new AbortController()
  #stopped: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Ends the current phase, and lets no other begin. The first reason is kept. */
  stop(reason: Error): void {
    this.#stopped ??= reason
    this.#current.abort(reason)
  }

  /**
   * Runs a phase.
   * @param remainingMs until its deadline; may be infinite
   * @param givenMs the whole time allowed; undefined if there is no other bound
   * @throws {DeadlinePassed} through its signal
   */
  async within<T>(
    remainingMs: number,
    givenMs: number | undefined,
    body: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#stopped) throw this.#stopped
    const phase = new AbortController()
    this.#current = phase
    const done = new AbortController()
    const words =
      givenMs === undefined ? 'Its deadline has passed' : `It took longer than ${Math.round(givenMs / 1000)} seconds`
    const passed = () => phase.abort(new DeadlinePassed(words))
    // Redis' clock may have stepped back since the acceptance: never longer than the time allowed.
    const leftMs = Math.min(remainingMs, givenMs ?? remainingMs)
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

/** The interface of a phase to its run. */
export interface PhaseHost<K extends Shape> {
  readonly clock: Clock
  /** Words for a refusal that does not pass. */
  readonly words: { refused(reason: string): string }
  /** The span of a step, from its first attempt to its last, with its requests as children. */
  spanOf(step: Step<K>): Span
  context(step: Step<K>, signal: AbortSignal, span: Span): K['context']
  /** Takes a slot before an act, and frees it before a wait that has something to wait for. */
  takeTurn(step: Step<K>, signal: AbortSignal): Promise<void>
  /** Records the result of a step, and the next step. */
  commit(step: Step<K>, result: Exclude<StepResult<K['fields']>, 'nothing'>, next: Step<K>): Promise<void>
  onStep(step: Step<K>, seconds: number, result: StepOutcome): void
  /** The cluster refused a step, which will be tried again for a while. */
  onRefusal(step: string, error: KubeError): Promise<void>
}

const firstRetryMs = 200
const longestRetryMs = 5_000
/** How long a refusal of an object may last because the cluster is catching up. */
export const refusalGraceMs = 10_000
/** How long a refusal lasts before it is reported, unless a right is missing: most are over by then. */
const reportRefusalMs = 2_000

/** @returns the result of the last step. It is not recorded yet: the caller writes it with the end of the operation. */
export async function runPhase<K extends Shape>(
  host: PhaseHost<K>,
  steps: readonly Step<K>[],
  first: string,
  signal: AbortSignal,
): Promise<StepResult<K['fields']>> {
  const begin = steps.findIndex(step => step.name === first)
  let i = Math.max(begin, 0)
  while (true) {
    const step = steps[i]!
    await host.takeTurn(step, signal)
    const result = await timed(host, step, signal).catch(error => {
      if (error instanceof StartOver) return error
      throw error
    })
    if (result instanceof StartOver) {
      i = 0
      continue
    }
    const next = steps[i + 1]
    if (!next) return result
    if (result !== 'nothing') await host.commit(step, result, next)
    i += 1
  }
}

async function timed<K extends Shape>(
  host: PhaseHost<K>,
  step: Step<K>,
  signal: AbortSignal,
): Promise<StepResult<K['fields']>> {
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

/** Repeats a step for as long as its obstacle may pass. */
async function untilDone<K extends Shape>(
  host: PhaseHost<K>,
  step: Step<K>,
  signal: AbortSignal,
  span: Span,
): Promise<StepResult<K['fields']>> {
  const refusals = new Map<string, number>()
  let pauseMs = firstRetryMs
  let trouble = ''
  while (true) {
    try {
      return await step.run(host.context(step, signal, span))
    } catch (error) {
      throwIfStopped(signal, trouble, refusals.size > 0)
      const refusedMs = refusedForMs(error, refusals, host.clock.monotonicMs())
      if (error instanceof KubeError && refusedMs > refusalGraceMs)
        throw new Refused(host.words.refused(error.message), { cause: error })
      if (!(error instanceof RetryLater || error instanceof KubeError)) throw error
      trouble = error.message
      if (error instanceof KubeError && (refuserOf(error) === 'rights' || refusedMs >= reportRefusalMs)) {
        await host.onRefusal(step.name, error)
      }
      const afterMs = error instanceof RetryLater ? error.afterMs : undefined
      const stopped = () => throwIfStopped(signal, trouble, refusals.size > 0)
      await host.clock.sleep(afterMs ?? pauseMs, signal).catch(stopped)
      pauseMs = Math.min(pauseMs * 2, longestRetryMs)
    }
  }
}

/**
 * How long this object has been refused; infinite for any other error. The cluster may catch up with one object after another.
 * @param refusals since when each object has been refused; emptied by any other error
 */
function refusedForMs(error: unknown, refusals: Map<string, number>, nowMs: number): number {
  if (!isRefusal(error)) {
    refusals.clear()
    return Number.POSITIVE_INFINITY
  }
  const object = error instanceof ObjectRefused ? error.object : ''
  const sinceMs = refusals.get(object) ?? nowMs
  refusals.set(object, sinceMs)
  return nowMs - sinceMs
}

/** Throws the signal's reason. A passed deadline also names the last obstacle. */
function throwIfStopped(signal: AbortSignal, trouble: string, isRefused: boolean): void {
  if (signal.reason instanceof DeadlinePassed && trouble !== '') {
    throw new DeadlinePassed(`${signal.reason.message} (at last: ${trouble})`, isRefused)
  }
  signal.throwIfAborted()
}
