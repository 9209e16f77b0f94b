/** An operation with its owner: the claim, and the state that the parts of its run share. */
import type { Clock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Slots } from '../base/slots.ts'
import { namedBy } from '../base/subject.ts'
import { type KubeError, remedyOf } from '../kube/client.ts'
import type { Lease } from '../leases/leases.ts'
import type { Claim } from '../store/claims.ts'
import type { OperationStore } from '../store/operations.ts'
import type { OwnerStore } from '../store/owners.ts'
import type { Sealer } from '../store/sealing.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { originFields, type Span, type Tracing } from '../telemetry/tracing.ts'
import type { Auditor } from './audit.ts'
import { Journal } from './journal.ts'
import type { Claimed, Kind, Work } from './kind.ts'
import { Phases } from './phase.ts'
import type { Shape } from './steps.ts'
import { Turn } from './turn.ts'

export interface RunOptions<K extends Shape> {
  readonly kind: Kind<K>
  readonly owners: OwnerStore<K['record'], K['fields']>
  readonly streams: Pick<OperationStore, 'events'>
  readonly sealer: Pick<Sealer, 'open'>
  readonly clock: Clock
  /** Limits operations that act at once. */
  readonly room: Slots
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly audit: Auditor
}

const refusalWords = { trouble: 'a step is refused', over: 'a step that was refused is done' }

export class Owned<K extends Shape> implements Claimed<K> {
  readonly options: RunOptions<K>
  readonly claim: Claim<K['record']>
  readonly lease: Lease
  readonly agent: string
  readonly log: Logger
  readonly span: Span
  readonly journal: Journal<K['fields']>
  readonly turn: Turn
  readonly phases: Phases
  readonly refusals: Rarely
  readonly work: Work<K>
  readonly #claimedMs: number

  /** `places`: slots already taken for this run. */
  constructor(options: RunOptions<K>, claim: Claim<K['record']>, lease: Lease, places: number) {
    const { record } = claim
    const { kind, owners, streams, clock } = options
    const { name } = lease
    const subject = { kind: kind.name, name }
    this.options = options
    this.claim = claim
    this.lease = lease
    this.agent = `op=${record.op} claim=${record.claims}`
    const origin = originFields(record.requestId, record.traceparent)
    this.log = options.log.child({ ...namedBy(subject), op: record.op, kind: record.kind, ...origin })
    this.refusals = new Rarely({ ...refusalWords, clock, log: this.log })
    this.span = options.tracing.operation({ ...record, subject })
    this.journal = new Journal<K['fields']>({ owners, streams, clock }, lease, record)
    this.turn = new Turn(options.room, this.journal, record, places)
    this.phases = new Phases(clock)
    this.#claimedMs = clock.monotonicMs()
    this.work = kind.begin(this)
  }

  get name(): string {
    return this.lease.name
  }

  get op(): number {
    return this.claim.record.op
  }

  get recordMayBeOld(): boolean {
    return this.claim.record.op <= this.claim.foundOp
  }

  get ownedMs(): number {
    return this.options.clock.monotonicMs() - this.#claimedMs
  }

  /** Passes a failpoint. */
  pass(place: string): void | Promise<void> {
    return failpoint(`${this.options.kind.name}.${this.claim.record.kind}.${place}`, this.name)
  }

  async reportRefusal(step: string, error: KubeError): Promise<void> {
    const remedy = remedyOf(error)
    this.refusals.failed(error.message, { step, ...(remedy !== undefined && { remedy }) })
    await this.journal.report([['info', `The cluster refuses this for now; it is tried again (${error.message})`]])
  }
}
