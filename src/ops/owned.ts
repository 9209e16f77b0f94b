/** An operation with its owner: the claim, and the state that the parts of its run share. */
import type { Clock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Slots } from '../base/slots.ts'
import { type KubeError, remedyOf } from '../kube/client.ts'
import { type LabNames, labNames } from '../labs/names.ts'
import type { Lease } from '../leases/leases.ts'
import type { LabStore } from '../store/labs.ts'
import type { Claim, OwnerStore } from '../store/owners.ts'
import type { Sealer } from '../store/sealing.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { originFields, type Span, type Tracing } from '../telemetry/tracing.ts'
import type { Auditor } from './audit.ts'
import type { ClusterClient, ClusterView } from './cluster.ts'
import { Journal } from './journal.ts'
import { Phases } from './phase.ts'
import type { Graces, Known } from './steps.ts'
import { boundAt, type Trust } from './trust.ts'
import { Turn } from './turn.ts'

/** Milliseconds; from the configuration. */
export interface OperationTimes extends Graces {
  readonly spawnMs: number
  readonly deleteMs: number
}

export interface RunOptions {
  readonly owners: OwnerStore
  readonly labs: LabStore
  readonly sealer: Sealer
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly clock: Clock
  readonly times: OperationTimes
  readonly trust: Trust
  readonly namespacePrefix: string
  readonly maxAttempts: number
  /** How long a write in flight may take to return before the lease is released. */
  readonly longestRequestMs: number
  readonly room: Slots
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly audit: Auditor
  readonly compare: () => void
}

const refusalWords = { trouble: 'a step is refused', over: 'a step that was refused is done' }

export class Owned {
  readonly options: RunOptions
  readonly claim: Claim
  readonly lease: Lease
  readonly names: LabNames
  readonly known: Known
  /** Names the operation and the claim in the User-Agent of requests. */
  readonly agent: string
  readonly log: Logger
  readonly span: Span
  readonly journal: Journal
  readonly turn: Turn
  readonly phases: Phases
  readonly refusals: Rarely
  /** UIDs of objects of the lab's namespace whose DELETED event was seen. */
  readonly gone = new Set<string>()
  readonly #claimedMs: number

  /** `places`: slots already taken for this run. */
  constructor(options: RunOptions, claim: Claim, lease: Lease, places: number) {
    const { record } = claim
    const { user } = lease
    this.options = options
    this.claim = claim
    this.lease = lease
    this.names = labNames(options.namespacePrefix, user)
    // A record from before the compare of Redis' data may be old: steps ask the cluster instead of using its UIDs.
    this.known = { namespaceUid: record.namespaceUid, podUid: record.podUid, doubt: this.recordMayBeOld }
    this.agent = `op=${record.op} claim=${record.claims}`
    const origin = originFields(record.requestId, record.traceparent)
    this.log = options.log.child({ user, op: record.op, kind: record.kind, ...origin })
    this.refusals = new Rarely({ ...refusalWords, clock: options.clock, log: this.log })
    this.span = options.tracing.operation({ ...record, user })
    this.journal = new Journal(options, lease, record)
    this.turn = new Turn(options.room, this.journal, record, places)
    this.phases = new Phases(options.clock)
    this.#claimedMs = options.clock.monotonicMs()
  }

  get user(): string {
    return this.lease.user
  }

  get op(): number {
    return this.claim.record.op
  }

  get recordMayBeOld(): boolean {
    return this.claim.record.op <= this.claim.foundOp
  }

  /** Milliseconds since the claim, by the monotonic clock. */
  get ownedMs(): number {
    return this.options.clock.monotonicMs() - this.#claimedMs
  }

  /**
   * The highest trusted op: Redis' clock at the claim plus the monotonic time since then, so that steps of wall clocks do
   * not matter. Ops up to the operation's own are always trusted, since Redis issued them.
   */
  boundOp(): number {
    return Math.max(this.op, boundAt(this.claim.nowMs + this.ownedMs))
  }

  /** Passes a failpoint. */
  pass(place: string): void | Promise<void> {
    return failpoint(`lab.${this.claim.record.kind}.${place}`, this.user)
  }

  /** Reports to the user and in the log that the cluster refuses a step, which will be tried again. */
  async reportRefusal(step: string, error: KubeError): Promise<void> {
    const remedy = remedyOf(error)
    this.refusals.failed(error.message, { step, ...(remedy !== undefined && { remedy }) })
    await this.journal.report([['info', `The cluster refuses this for now; it is tried again (${error.message})`]])
  }
}
