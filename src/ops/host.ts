/** The host of a phase: gives its steps the operation's state and records their results. Each phase has its own. */
import type { LabPlan } from '../base/domain.ts'
import type { KubeError } from '../kube/client.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Owned } from './owned.ts'
import type { PhaseHost, StepOutcome } from './phase.ts'
import type { Step, StepContext, StepResult } from './steps.ts'

export class OwnedHost implements PhaseHost {
  readonly #owned: Owned
  readonly #plan: LabPlan | undefined

  /** `plan`: only for a creation. */
  constructor(owned: Owned, plan?: LabPlan) {
    this.#owned = owned
    this.#plan = plan
  }

  get clock() {
    return this.#owned.options.clock
  }

  spanOf({ name }: Step): Span {
    const { op, claims } = this.#owned.claim.record
    const attributes = { 'skylab.op': op, 'skylab.claim': claims }
    return this.#owned.span.child(name, { holdsChildren: true, attributes })
  }

  context({ name }: Pick<Step, 'name'>, signal: AbortSignal, span: Span): StepContext {
    const owned = this.#owned
    const { kube, view, clock, times, trust, compare } = owned.options
    const pass: StepContext['failpoint'] = place => owned.pass(`${name}.${place}`)
    return {
      user: owned.user,
      op: owned.op,
      trust,
      boundOp: () => owned.boundOp(),
      names: owned.names,
      plan: this.#plan,
      known: owned.known,
      kube,
      view,
      clock,
      graces: times,
      signal,
      gone: owned.gone,
      call: () => {
        const check = () => owned.lease.check()
        check()
        // The content of many labs at once waits for slots of the client.
        return { signal, agent: owned.agent, check, failpoint: pass, log: owned.log, span }
      },
      report: events => owned.journal.report(events),
      unreported: events => owned.journal.unreported(events),
      compare,
      failpoint: pass,
      at: place => this.context({ name: place }, signal, span),
    }
  }

  async takeTurn(step: Step, signal: AbortSignal): Promise<void> {
    const { known, turn } = this.#owned
    // To free a slot and take it again would let the engine claim another operation for it, which then waits owned.
    if (!step.isIdle?.(known)) await turn.take(step.kind, signal)
  }

  async commit(step: Step, result: Exclude<StepResult, 'nothing'>, next: Step): Promise<void> {
    const { journal, turn } = this.#owned
    const fields = { ...result.fields, step: next.name, ...turn.next(next) }
    await journal.commit(result.events, step.progress, fields, () => this.#owned.pass(`${step.name}.before-commit`))
    await this.#owned.pass(`${step.name}.after-commit`)
  }

  onStep(step: Step, seconds: number, result: StepOutcome): void {
    const { claim, refusals, options, log } = this.#owned
    if (result === 'done') refusals.worked()
    options.metrics.stepDuration.observe({ kind: claim.record.kind, step: step.name, result }, seconds)
    log.debug({ step: step.name, seconds, result }, 'step')
  }

  onRefusal(step: string, error: KubeError): Promise<void> {
    return this.#owned.reportRefusal(step, error)
  }
}
