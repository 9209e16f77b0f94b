/**
 * Sends bills from the outbox to the table, one replica at a time by lease, and compares the table with the LNamespaces. The lease
 * spares work: two senders do no harm, since the row refuses what is older. While the database is away everything else goes on.
 */
import { backoffMs } from '../base/backoff.ts'
import { type Bill, isEnd } from '../base/bill.ts'
import { RetryLater } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { jittered } from '../base/loop.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { TakenBills, WaitingBill } from '../store/bills.ts'
import { Rarely } from '../telemetry/rarely.ts'
import type { Compared, Gone } from './compare.ts'
import { Comparing } from './comparing.ts'
import { Ledger } from './ledger.ts'
import type { Depth, SenderOptions } from './options.ts'
import { backoff, Outage } from './outage.ts'
import { type Outcome, Refused, TableTrouble, troubleWords } from './table.ts'
import { wavesOf } from './waves.ts'

/** How often the outbox is read by the replica that sends, and the lease is tried by others. */
const lookMs = 500
const idleMs = 2_000
/** The same while the database is away. It must be a part of what a lease is known to last. */
const troubleMs = 1_000
const jitter = 0.1
/** The share of a lease in which nobody else can have it. */
const heldShare = 0.66
/** The share after which a round ends, if the database is slow: what it tells would else be believed by nobody. */
const roundShare = 0.33
/** A bill that the table refuses is tried again after this time. */
const refusedMs = 60_000
/** The same of a bill whose row somebody has locked. */
const lockedMs = 5_000
const closedWords = 'the table has the end of this LNamespace, which is final'

const heldWords =
  'a compare would end more than half of all bills, and ends none: is tenants.billing.cluster the same as of another cluster?'
/** Names in a line of the log. */
const mostNamed = 10

export class Sender {
  readonly ledger: Ledger
  readonly #options: SenderOptions
  readonly #duty: Duty
  readonly #redisTrouble: Rarely
  readonly #sqlTrouble: Rarely
  readonly #comparing: Comparing
  readonly #outage: Outage
  /** When bills that were refused are tried again, by field. */
  readonly #refused = new Map<string, number>()
  #token: string | undefined
  #depth: Depth | undefined

  constructor(options: SenderOptions) {
    const { clock, log, leases, lease } = options
    this.#options = options
    this.ledger = new Ledger(clock)
    this.#comparing = new Comparing(options)
    this.#outage = new Outage(clock)
    const words = (what: string) => ({ trouble: `${what}: bills wait`, over: 'bills are sent again' })
    this.#redisTrouble = new Rarely({ clock, log, ...words('the outbox of bills cannot be used') })
    this.#sqlTrouble = new Rarely({ clock, log, ...words('the database of bills cannot be used') })
    this.#duty = new Duty({
      ...{ clock, leases, lease },
      round: take => this.#round(take),
      failed: (error, failures) => {
        if (error instanceof RetryLater) this.#redisTrouble.failed(error.message)
        else log.error({ err: error }, 'sending bills failed')
        return { ms: backoffMs(failures, backoff) }
      },
      onEnd: () => this.#forget(),
    })
  }

  start(): void {
    this.#duty.start()
  }

  async stop(): Promise<void> {
    await this.#duty.stop()
    await this.#options.table.rest()
  }

  /** A bill was put. */
  wake(): void {
    if (this.#token !== undefined) this.#duty.wake()
  }

  /** Redis may have lost the outbox. */
  compare(): void {
    this.#comparing.soon()
    this.wake()
  }

  /** A watch has shown an end. If another replica sends, it sees the same; a replica that takes over compares. */
  gone(gone: Gone): void {
    if (this.#token === undefined) return
    this.#comparing.gone(gone)
    this.#duty.wake()
  }

  /** Undefined where another replica sends. */
  get depth(): Depth | undefined {
    return this.#depth
  }

  async #round(take: Take): Promise<DutyRest> {
    const { store, lease, leaseTtlMs, clock, isElsewhere } = this.#options
    if (isElsewhere()) return { ms: idleMs }
    const askedMs = clock.monotonicMs()
    const token = await take()
    if (token === null) {
      this.#redisTrouble.worked()
      return { ms: jittered(idleMs, jitter) }
    }
    const taken = await store.take(lease, token)
    if (!taken) throw new RetryLater('the lease is lost')
    this.#redisTrouble.worked()
    if (this.#token !== token) this.#comparing.soon()
    this.#token = token
    this.#depth = taken
    for (const name of this.ledger.holdsUntil(askedMs + leaseTtlMs * heldShare)) this.#options.onTold(name)
    return { ...(await this.#work(token, taken)), keep: true }
  }

  /** Nothing of it ends the lease but a silent Redis: another replica has the same database. */
  async #work(token: string, taken: TakenBills): Promise<DutyRest> {
    if (this.#tellTrouble(taken)) return { ms: troubleMs }
    try {
      const { lease } = this.#options
      const isClosing = await this.#comparing.close(this.#duty.signal)
      const isMore = await this.#send(taken)
      const compared = await this.#comparing.compareIfDue({ lease, token }, taken.complete, this.#duty.signal)
      if (compared) this.#noteCompared(compared)
      this.#sqlTrouble.worked()
      this.#outage.over()
      return { ms: isMore || isClosing || compared ? 0 : lookMs }
    } catch (error) {
      if (!(error instanceof TableTrouble)) throw error
      this.#options.onFailed(error.reason)
      this.#sqlTrouble.failed(`${error.message} (${error.detail})`, {}, error.reason)
      const waitMs = this.#outage.failed(error)
      this.#tellTrouble(taken)
      return { ms: Math.min(waitMs, troubleMs) }
    }
  }

  /**
   * While the database is not asked again yet: tells it of all bills, so that lease and conditions stay current.
   * @returns whether that is so
   */
  #tellTrouble({ bills }: TakenBills): boolean {
    const trouble = this.#outage.waiting
    if (!trouble) return false
    for (const { bill } of bills) this.#not(bill, trouble.reason, trouble.message)
    return true
  }

  /** @returns whether more may wait */
  async #send({ bills }: TakenBills): Promise<boolean> {
    const { clock, leaseTtlMs } = this.#options
    const nowMs = clock.monotonicMs()
    const ready = bills.filter(({ field }) => (this.#refused.get(field) ?? 0) <= nowMs)
    for (const wave of wavesOf(ready)) {
      if (clock.monotonicMs() - nowMs > leaseTtlMs * roundShare) break
      this.#duty.signal.throwIfAborted()
      await this.#sendWave(wave)
    }
    return ready.length > 0
  }

  async #sendWave(wave: readonly WaitingBill[]): Promise<void> {
    const { table, store } = this.#options
    const first = wave[0]!.bill.name
    await failpoint('billing.before-write', first)
    const outcomes = await table.write(
      wave.map(({ bill }) => bill),
      this.#duty.signal,
    )
    await failpoint('billing.after-write', first)
    for (const [index, outcome] of outcomes.entries()) {
      const waiting = wave[index]!
      if (outcome instanceof Refused) this.#noteRefused(waiting, outcome)
      else {
        await this.#note(waiting, outcome)
        await store.end(waiting)
      }
    }
  }

  #noteRefused({ bill, field }: WaitingBill, { detail, reason }: Refused): void {
    const { onOutcome, onFailed, log, clock } = this.#options
    this.#refused.set(field, clock.monotonicMs() + (reason === 'Refused' ? refusedMs : lockedMs))
    this.#not(bill, reason, troubleWords[reason])
    if (reason === 'TimedOut') onFailed(reason)
    else {
      log.error({ tenant: bill.name, uid: bill.uid, reason: detail }, 'the database of bills refuses a bill')
      onOutcome(bill, 'refused')
    }
  }

  async #note({ bill, field }: WaitingBill, answer: Exclude<Outcome, Refused>): Promise<void> {
    const { onOutcome, log, onTold } = this.#options
    this.#refused.delete(field)
    const outcome = answer === 'closed' && !(await this.#comparing.isThere(bill, this.#duty.signal)) ? 'older' : answer
    onOutcome(bill, outcome)
    if (isEnd(bill)) this.ledger.drop(bill.uid)
    else if (outcome === 'closed') {
      log.error({ tenant: bill.name, uid: bill.uid }, closedWords)
      this.#not(bill, 'Closed', closedWords)
    } else if (outcome !== 'older' && this.ledger.written(bill)) onTold(bill.name)
  }

  #not(bill: Bill, reason: string, message: string): void {
    if (!isEnd(bill) && this.ledger.not(bill, reason, message)) this.#options.onTold(bill.name)
  }

  #noteCompared({ right, differences, ends, held, odd }: Compared): void {
    const { log, onCompared, onTold } = this.#options
    for (const entry of right) if (this.ledger.written(entry)) onTold(entry.name)
    if (odd.length > 0) log.error({ uids: odd.slice(0, mostNamed) }, 'the table of bills has heads of no LNamespace')
    if (held.length > 0) {
      log.error({ ends: held.length, tenants: held.slice(0, mostNamed).map(({ name }) => name) }, heldWords)
      onCompared('failed')
      return
    }
    onCompared(differences + ends === 0 ? 'same' : 'different')
    if (differences + ends > 0) log.info({ differences, ends }, 'the table of bills differed from the LNamespaces')
  }

  #forget(): void {
    this.#token = undefined
    this.#depth = undefined
    this.#outage.over()
    this.#comparing.forget()
    this.#refused.clear()
    this.ledger.forget()
    void this.#options.table.rest()
  }
}
