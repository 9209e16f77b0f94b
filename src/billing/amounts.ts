/**
 * Writes the costs of ended containers beside the table of bills, one replica at a time by lease. Their records in Redis are the
 * outbox. Each replica that begins to send writes all of it: the table has one line for a container, so nothing is counted twice.
 */
import { backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import { jittered } from '../base/loop.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { Leases } from '../leases/leases.ts'
import type { EndedRun, EndedStore } from '../store/dispatch/ended.ts'
import { Rarely } from '../telemetry/rarely.ts'
import type { Amount, AmountTable } from './amount.ts'
import { backoff } from './outage.ts'
import { TableTrouble, type TroubleReason } from './table.ts'

export interface AmountSenderOptions {
  readonly clock: Clock
  readonly log: Log
  readonly table: AmountTable
  readonly ended: Pick<EndedStore, 'from'>
  readonly leases: Pick<Leases, 'acquireTask'>
  /** Key of the lease. */
  readonly lease: string
  /** Containers whose owner is in no LNamespace count for this one, and are billed to nobody. */
  readonly nobody: string
  readonly onSent: (count: number, result: 'sent' | 'refused') => void
  readonly onFailed: (reason: TroubleReason) => void
}

/** Containers of one call. */
const page = 200
/** How often others try to get the lease, and how often its holder looks although it has heard of no end. */
const idleMs = 2_000
const lookMs = 60_000
const jitter = 0.1

/** All that ended before it are written, and of that very millisecond these. */
interface Place {
  readonly ms: number
  readonly uuids: ReadonlySet<string>
}

const beginning: Place = { ms: 0, uuids: new Set() }

export class AmountSender {
  readonly #options: AmountSenderOptions
  readonly #duty: Duty
  readonly #trouble: Rarely
  #place: Place = beginning
  #isOurs = false

  constructor(options: AmountSenderOptions) {
    const { clock, log, leases, lease } = options
    this.#options = options
    const words = {
      trouble: 'what containers cost cannot be written: it waits',
      over: 'what containers cost is written again',
    }
    this.#trouble = new Rarely({ clock, log, ...words })
    this.#duty = new Duty({
      ...{ clock, leases, lease },
      round: take => this.#round(take),
      failed: (error, failures) => this.#failed(error, failures),
      onEnd: () => {
        this.#isOurs = false
        options.table.rest()
      },
    })
  }

  start(): void {
    this.#duty.start()
  }

  async stop(): Promise<void> {
    await this.#duty.stop()
    this.#options.table.rest()
  }

  /** A container has ended. */
  wake(): void {
    if (this.#isOurs) this.#duty.wake()
  }

  /** Redis may have lost its data, and what it keeps may have other places. */
  again(): void {
    this.#place = { ...beginning }
    this.wake()
  }

  async #round(take: Take): Promise<DutyRest> {
    if ((await take()) === null) return { ms: jittered(idleMs, jitter) }
    this.#isOurs = true
    const before = this.#place
    const found = await this.#options.ended.from(before.ms, page + before.uuids.size)
    const fresh = found.filter(({ uuid, endedMs }) => endedMs > before.ms || !before.uuids.has(uuid))
    if (fresh.length > 0) await this.#send(fresh)
    this.#trouble.worked()
    // It was set back meanwhile.
    if (this.#place !== before) return { ms: 0, keep: true }
    this.#place = placeAfter(before, fresh)
    return { ms: fresh.length > 0 ? 0 : jittered(lookMs, jitter), keep: true }
  }

  async #send(runs: readonly EndedRun[]): Promise<void> {
    const { table, nobody, log, onSent } = this.#options
    const amounts = runs.filter(({ tenant, startedMs }) => tenant !== nobody && startedMs > 0).map(amountOf)
    const refused = await table.add(amounts, this.#duty.signal)
    await failpoint('amounts.after-write')
    for (const { container, tenant } of refused)
      log.error({ container, tenant }, 'the database of bills refuses what a container cost')
    onSent(amounts.length - refused.length, 'sent')
    onSent(refused.length, 'refused')
  }

  #failed(error: unknown, failures: number): DutyRest {
    const { log, onFailed } = this.#options
    if (error instanceof TableTrouble) {
      onFailed(error.reason)
      this.#trouble.failed(`${error.message} (${error.detail})`, {}, error.reason)
    } else if (error instanceof RetryLater) this.#trouble.failed(error.message)
    else log.error({ err: error }, 'writing what containers cost failed')
    return { ms: backoffMs(failures, backoff) }
  }
}

function placeAfter(before: Place, fresh: readonly EndedRun[]): Place {
  const ms = fresh.at(-1)?.endedMs ?? before.ms
  const last = fresh.filter(({ endedMs }) => endedMs === ms).map(({ uuid }) => uuid)
  return { ms, uuids: new Set([...(ms === before.ms ? before.uuids : []), ...last]) }
}

const amountOf = (run: EndedRun): Amount => {
  const { uuid: container, tenant, instanceType, pricePerHour, startedMs, finishedMs, cost } = run
  return { container, tenant, instanceType, pricePerHour, startedMs, finishedMs, cost }
}
