/**
 * Compares the cloud's list with the records, both ways, and drops what is kept too long or too much. One replica does it, by
 * lease. It ends no machine: it adopts what no record has, and a record is what a keeper needs to end a machine. The tag of our set
 * is the border. A machine without it is not ours, even if a record has its id: removing the tag takes the machine from us.
 */
import { RetryLater } from '../base/errors.ts'
import { jittered, restAfter } from '../base/loop.ts'
import type { CloudCall, Driver, Instance, PreResource } from '../clouds/driver.ts'
import { CloudRefused } from '../clouds/errors.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import { endedByCloud } from '../dispatch/endings.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { EndedStore } from '../store/dispatch/ended.ts'
import type { MachineStore } from '../store/dispatch/machines.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { type AdoptionOptions, adopt } from './adoption.ts'
import { findingsOf, leftovers } from './findings.ts'
import type { CloudDutyParts } from './parts.ts'

export interface SweeperOptions extends AdoptionOptions, CloudDutyParts {
  readonly machines: Pick<MachineStore, 'adopt' | 'list' | 'find' | 'kill' | 'forget'>
  readonly ended: Pick<EndedStore, 'dropExcess'>
  /** Key of the lease. */
  readonly lease: string
  /** SyncInterval. */
  readonly intervalMs: number
  /** TimeoutBooting: what was made before a machine, and has none after so long, is removed. */
  readonly bootingMs: number
  /** How long what shows up of a failed creation is known to be over. */
  readonly tombstoneMs: number
  readonly onSwept: (report: SweepReport) => void
}

export interface SweepReport {
  readonly strays: number
  readonly retagged: number
  readonly removed: number
  /** Records whose machine the cloud shows as gone. */
  readonly gone: number
  /** Records whose machine still is, without our tag. */
  readonly released: number
}

const backoff = { baseMs: 1_000, capMs: 60_000 }
const jitter = 0.1
/** The most machines that one sweep asks the cloud about singly; the next sweeps come to the others. */
const mostLooks = 50
/** A tag that the record changed while it was written is written again, so often at most. */
const mostTagRounds = 5

export class Sweeper {
  readonly #options: SweeperOptions
  readonly #duty: Duty
  readonly #putOff: Rarely
  readonly #firstSeenMs = new Map<string, number>()
  /** Cloud ids of machines that were taken from us, and that were logged. */
  #released: ReadonlySet<string> = new Set()
  /** Where the next sweep goes on asking. */
  #asked = 0

  constructor(options: SweeperOptions) {
    const { clock, leases, lease, log } = options
    this.#options = options
    this.#putOff = new Rarely({
      clock,
      log,
      trouble: 'the sweep of the cloud is put off',
      over: 'the cloud is swept again',
    })
    this.#duty = new Duty({
      clock,
      leases,
      lease,
      round: take => this.#round(take),
      failed: (error, failures) => {
        this.#putOff.failed((error as Error).message)
        return restAfter(failures, backoff)
      },
    })
  }

  start(): void {
    this.#duty.start()
  }

  async stop(): Promise<void> {
    await this.#duty.stop()
  }

  /** Sweeps soon. */
  wake(): void {
    this.#duty.wake()
  }

  async #round(take: Take): Promise<DutyRest> {
    const rest = { ms: jittered(this.#options.intervalMs, jitter) }
    const token = await take()
    if (token === null) return rest
    await this.#sweep(token)
    this.#putOff.worked()
    return { ...rest, keep: true }
  }

  async #sweep(token: string): Promise<void> {
    const { machines, ended, tagging, failpoint, onSwept } = this.#options
    // First, since it needs no cloud.
    await ended.dropExcess()
    const listed = await this.#call('list', (driver, call) => driver.list(call))
    await failpoint('sweep.listed')
    const briefs = await machines.list()
    await tagging.refresh()
    await failpoint('sweep.read')
    const { strays, unlisted, retag } = findingsOf(listed, briefs, tagging)
    for (const stray of strays) if (!(await this.#aside(() => this.#adopt(stray, token), true))) return
    for (const { name, instance } of retag) await this.#aside(() => this.#retag(name, instance), undefined)
    const absent = await this.#lookFor(unlisted)
    const removed = await this.#removeLeftovers(briefs)
    await machines.forget(this.#options.tombstoneMs)
    onSwept({ ...absent, strays: strays.length, retagged: retag.length, removed })
  }

  /** The listing may be old: what is over by now needs no record. @returns false when the lease is lost */
  async #adopt(stray: Instance, token: string): Promise<boolean> {
    const found = await this.#call('find', (driver, call) => driver.find(stray.id, call))
    if (found === 'unknown' || found.state === 'gone') return true
    return adopt(this.#options, found, { sweep: token })
  }

  /** Writes what the record has now. A record that changes meanwhile is read again: the last writer must be right. */
  async #retag(name: string, listed: Instance): Promise<void> {
    const { machines, tagging } = this.#options
    let { tags } = listed
    for (let round = 0; round < mostTagRounds; round += 1) {
      const brief = await machines.find(name)
      if (!brief || brief.instance !== listed.id || brief.ending !== '') return
      const missing = tagging.missingOf(tags, brief)
      if (Object.keys(missing).length === 0) return
      await this.#call('setTags', (driver, call) => driver.setTags(listed.id, missing, call))
      tags = { ...tags, ...missing }
    }
  }

  /** A machine that the listing lacks is asked about alone. Its keeper proves that it is gone, and frees what ran there. */
  async #lookFor(unlisted: readonly MachineBrief[]): Promise<Pick<SweepReport, 'gone' | 'released'>> {
    const released = new Set<string>()
    let gone = 0
    const from = this.#asked % Math.max(1, unlisted.length)
    const some = [...unlisted.slice(from), ...unlisted.slice(0, from)].slice(0, mostLooks)
    this.#asked = from + some.length
    for (const brief of some) {
      const is = await this.#aside(() => this.#look(brief), 'here')
      if (is === 'gone') gone += 1
      if (is === 'released') released.add(brief.instance)
    }
    const { log } = this.#options
    for (const instance of released) {
      if (!this.#released.has(instance)) log.error({ instance }, 'a machine lost the tag of our set: it is left alone')
    }
    this.#released = released
    return { gone, released: released.size }
  }

  async #look({ name, instance }: MachineBrief): Promise<'here' | 'gone' | 'released'> {
    const { machines } = this.#options
    const found = await this.#call('find', (driver, call) => driver.find(instance, call))
    if (found !== 'unknown' && found.state !== 'gone') return 'here'
    if (found !== 'unknown') {
      await machines.kill(name, endedByCloud)
      return 'gone'
    }
    const isMissing = await this.#call('missing', async (driver, call) => driver.missing?.(instance, call) ?? true)
    return isMissing ? 'here' : 'released'
  }

  async #removeLeftovers(briefs: readonly MachineBrief[]): Promise<number> {
    const { tagging, clock, bootingMs } = this.#options
    const orphans = await this.#call('orphans', (driver, call) => driver.orphans(call))
    const monotonicMs = clock.monotonicMs()
    const ids = new Set(orphans.map(({ id }) => id))
    for (const id of this.#firstSeenMs.keys()) if (!ids.has(id)) this.#firstSeenMs.delete(id)
    for (const id of ids) if (!this.#firstSeenMs.has(id)) this.#firstSeenMs.set(id, monotonicMs)
    const ages = { firstSeenMs: this.#firstSeenMs, monotonicMs, wallMs: clock.wallMs(), oldMs: bootingMs }
    const old = leftovers(orphans, briefs, tagging, ages)
    let removed = 0
    for (const resource of old) if (await this.#aside(() => this.#remove(resource), false)) removed += 1
    return removed
  }

  async #remove(resource: PreResource): Promise<true> {
    await this.#call('remove', (driver, call) => driver.remove(resource, call))
    this.#options.log.info(
      { kind: resource.kind, id: resource.id },
      'what was made for a machine that never came is removed',
    )
    return true
  }

  /** A refusal for one machine must not keep the sweep from the others. */
  async #aside<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#duty.signal.throwIfAborted()
      if (!(error instanceof CloudRefused)) throw error
      this.#options.log.warn({ reason: error.message }, 'a part of the sweep is left out')
      return otherwise
    }
  }

  async #call<T>(operation: string, ask: (driver: Driver, call: CloudCall) => Promise<T>): Promise<T> {
    const { cloud, patienceMs, clock, failpoint } = this.#options
    const signal = AbortSignal.any([this.#duty.signal, AbortSignal.timeout(patienceMs)])
    const sinceMs = clock.monotonicMs()
    // After a long stop of this process, what was read may be old.
    const check = () => {
      if (clock.monotonicMs() - sinceMs > patienceMs) throw new RetryLater('the sweep was held up')
    }
    const pass = (place: string) => failpoint(`sweep.${operation}.${place}`)
    const call: CloudCall = { signal, agent: 'sweep', check, failpoint: pass }
    return cloud.call(operation, call, driver => ask(driver, call))
  }
}
