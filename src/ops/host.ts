/** The host of a phase: gives its steps the operation's state and records their results. Each phase has its own. */
import type { KubeError } from '../kube/client.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Owned } from './owned.ts'
import type { PhaseHost, StepOutcome } from './phase.ts'
import type { Shape, Step, StepContext, StepResult } from './steps.ts'

export class OwnedHost<K extends Shape> implements PhaseHost<K> {
  readonly #owned: Owned<K>
  readonly #plan: K['plan'] | undefined

  /** `plan`: only for a creation. */
  constructor(owned: Owned<K>, plan?: K['plan']) {
    this.#owned = owned
    this.#plan = plan
  }

  get clock() {
    return this.#owned.options.clock
  }

  get words() {
    return this.#owned.options.kind.words
  }

  spanOf({ name }: Step<K>): Span {
    const { op, claims } = this.#owned.claim.record
    const attributes = { 'skylab.op': op, 'skylab.claim': claims }
    return this.#owned.span.child(name, { holdsChildren: true, attributes })
  }

  context({ name }: Pick<Step<K>, 'name'>, signal: AbortSignal, span: Span): K['context'] {
    const owned = this.#owned
    const pass: StepContext['failpoint'] = place => owned.pass(`${name}.${place}`)
    const common: StepContext<K['plan'], K['known']> = {
      name: owned.name,
      op: owned.op,
      epoch: owned.claim.epoch,
      plan: this.#plan,
      known: owned.work.known,
      clock: owned.options.clock,
      signal,
      call: () => {
        const check = () => owned.lease.check()
        check()
        // The requests of many operations wait for slots of the client.
        return { signal, agent: owned.agent, check, failpoint: pass, log: owned.log, span }
      },
      report: events => owned.journal.report(events),
      unreported: events => owned.journal.unreported(events),
      failpoint: pass,
    }
    return owned.work.context(common, place => this.context({ name: place }, signal, span))
  }

  async takeTurn(step: Step<K>, signal: AbortSignal): Promise<void> {
    const { work, turn } = this.#owned
    // To free a slot and take it again would let the engine claim another operation for it, which then waits owned.
    if (!step.isIdle?.(work.known)) await turn.take(step.kind, signal)
  }

  async commit(step: Step<K>, result: Exclude<StepResult<K['fields']>, 'nothing'>, next: Step<K>): Promise<void> {
    const { journal, turn } = this.#owned
    const fields = { ...result.fields, step: next.name, ...turn.next(next) }
    await journal.commit(result.events, step.progress, fields, () => this.#owned.pass(`${step.name}.before-commit`))
    await this.#owned.pass(`${step.name}.after-commit`)
  }

  onStep(step: Step<K>, seconds: number, result: StepOutcome): void {
    const { claim, refusals, options, log } = this.#owned
    if (result === 'done') refusals.worked()
    const { kind } = claim.record
    const labels = { kind, step: step.name, result, subject_kind: options.kind.name }
    options.metrics.stepDuration.observe(labels, seconds)
    log.debug({ step: step.name, seconds, result }, 'step')
  }

  onRefusal(step: string, error: KubeError): Promise<void> {
    return this.#owned.reportRefusal(step, error)
  }
}
