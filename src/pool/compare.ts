/**
 * Compares the records with the cloud when the data of Redis are new to us: at the first start, when they were lost, or when they
 * went back. It lists by our tag, and adopts what no record knows. From then on keepers ask each machine what it runs. Until all
 * have answered, or are gone by proof, scripts assign no container that may run somewhere. Until the compare has ended, Redis
 * proves nothing: no command for containers or machines is taken.
 */
import { randomUUID } from 'node:crypto'
import { logUnexpected } from '../base/log.ts'
import { Loop } from '../base/loop.ts'
import type { CloudCall, Instance } from '../clouds/driver.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { Compares, Mark } from '../store/compares.ts'
import type { MachineStore } from '../store/dispatch/machines.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { type AdoptionOptions, adopt } from './adoption.ts'
import { counterWords, highestOf } from './ops.ts'
import type { CloudDutyParts } from './parts.ts'

export interface ComparerOptions extends AdoptionOptions, CloudDutyParts {
  readonly machines: Pick<MachineStore, 'adopt' | 'doubt' | 'compared'>
  readonly compares: Pick<Compares, 'begin' | 'end' | 'doubt' | 'readDoubt' | 'lease'>
  /** How long former owners may still act on operations that were found: a lease's TTL plus the longest request. */
  readonly holdMs: number
  /** How old a listing of this cloud may be. A machine that it does not show yet may run containers that Redis has forgotten. */
  readonly lagMs: number
  readonly onCompared: (report: CompareReport) => void
}

export interface CompareReport {
  readonly result: 'done' | 'restarted' | 'doubted'
  /** Machines that the cloud showed. */
  readonly listed: number
  /** Machines whose tag has an op that is more than a day beyond Redis' clock: it was not believed. */
  readonly ahead: number
  readonly tookMs: number
}

const retryMs = 250
/** The pause before the next compare while there is a doubt. */
const compareAgainMs = 3_000
/** How long a doubt lasts unless a compare finds it again: its replica may have died. */
const keepDoubtMs = 15_000
/** How often a replica looks whether the data are those that were compared, and for doubts. */
const lookMs = 2_000
/** Machines that are adopted at once. */
const breadth = 16

export class Comparer {
  readonly #options: ComparerOptions
  readonly #duty: Duty
  readonly #looks: Loop
  readonly #putOff: Rarely
  #wanted = true
  #doubt: string | undefined

  constructor(options: ComparerOptions) {
    const { clock, leases, compares, log } = options
    this.#options = options
    this.#putOff = new Rarely({
      ...{ clock, log },
      ...{ trouble: 'the compare with the cloud is put off', over: 'the compare with the cloud goes on' },
    })
    this.#duty = new Duty({
      ...{ clock, leases, lease: compares.lease },
      round: take => this.#round(take),
      failed: error => {
        this.#putOff.failed((error as Error).message)
        this.#wanted = true
        return { ms: 0, deafMs: retryMs }
      },
    })
    const rest = { ms: lookMs }
    const round = async () => {
      await this.#look()
      return rest
    }
    const failed = (error: unknown) => {
      logUnexpected(log, error, 'the doubt of a compare cannot be read')
      return rest
    }
    this.#looks = new Loop({ clock, round, failed })
  }

  start(): void {
    this.#duty.start()
    this.#looks.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#duty.stop(), this.#looks.stop()])
  }

  /** Redis answered that its data must be compared first. */
  wake(): void {
    this.#wanted = true
    this.#duty.wake()
  }

  /** Why the compare takes long, in words for clients; undefined if it does not. */
  get trouble(): string | undefined {
    return this.#doubt ?? this.#putOff.reason
  }

  async #look(): Promise<void> {
    const { compares, log } = this.#options
    const doubt = await compares.readDoubt()
    const words = doubt?.kind === 'counter' ? counterWords(doubt.lastOp, doubt.nowMs) : doubt?.reason
    if (words !== undefined && this.#doubt === undefined) log.error({ reason: words }, 'no machine is adopted')
    if (words === undefined && this.#doubt !== undefined) this.wake()
    this.#doubt = words
  }

  async #round(take: Take): Promise<DutyRest> {
    const { machines } = this.#options
    if (this.#wanted && !(await machines.compared())) {
      // The holder of the lease compares.
      if ((await take()) === null) return { ms: 0, deafMs: retryMs }
      const result = await this.#timed()
      if (result === 'doubted') return { ms: 0, deafMs: compareAgainMs }
      if (result === 'restarted') return { ms: 0, deafMs: retryMs }
    }
    this.#wanted = false
    this.#putOff.worked()
    return { ms: Number.MAX_SAFE_INTEGER }
  }

  async #timed(): Promise<CompareReport['result']> {
    const { clock, onCompared } = this.#options
    const begunMs = clock.monotonicMs()
    const report = await this.#compare()
    onCompared({ ...report, tookMs: clock.monotonicMs() - begunMs })
    return report.result
  }

  async #compare(): Promise<Omit<CompareReport, 'tookMs'>> {
    const { compares, machines, log, failpoint } = this.#options
    const mark = await this.#begin()
    // Another replica has ended one since this one looked: containers that came since then would wait for all machines again.
    if (!mark.needed) return { result: 'done', listed: 0, ahead: 0 }
    await failpoint('dispatch-compare.begun')
    const doubt = counterWords(mark.foundOp, mark.nowMs)
    if (doubt !== undefined) {
      await compares.doubt(mark, doubt, keepDoubtMs)
      return { result: 'doubted', listed: 0, ahead: 0 }
    }
    const listed = await this.#list()
    await failpoint('dispatch-compare.listed')
    const intents = listed.map(({ tags }) => this.#options.tagging.intentOf(tags))
    const { highestOp, ahead } = highestOf(intents, mark.nowMs)
    const found = { listed: listed.length, ahead }
    if (ahead > 0) log.warn({ ahead }, 'tags of machines have numbers beyond the clock of Redis: they are not believed')
    if (!(await this.#adoptAll(listed, mark))) return { ...found, result: 'restarted' }
    await failpoint('dispatch-compare.adopted')
    const ended = (await machines.doubt(mark)) && (await compares.end(mark, highestOp))
    if (ended) log.info({ ...found, highestOp }, 'the records were compared with the cloud')
    return { ...found, result: ended ? 'done' : 'restarted' }
  }

  /**
   * Where Redis has data, they may be older than what machines run, and a listing may lack such a machine for a while. So the mark
   * that counts is written after that while: it lasts for the listing and what follows. An empty Redis has no container that could be
   * assigned twice, and the sweep adopts what shows up later.
   */
  async #begin(): Promise<Mark> {
    const { compares, holdMs, clock, lagMs } = this.#options
    for (let first = await compares.begin(randomUUID(), holdMs); ; ) {
      if (!first.needed || first.foundOp === 0 || lagMs === 0) return first
      if (counterWords(first.foundOp, first.nowMs) !== undefined) return first
      await clock.sleep(lagMs, this.#duty.signal)
      const mark = await compares.begin(randomUUID(), holdMs)
      // Another Redis may have gone back meanwhile.
      if (mark.identity === first.identity) return mark
      first = mark
    }
  }

  async #list(): Promise<readonly Instance[]> {
    const { cloud, patienceMs, failpoint, tagging } = this.#options
    const signal = AbortSignal.any([this.#duty.signal, AbortSignal.timeout(patienceMs)])
    const call: CloudCall = {
      signal,
      agent: 'compare',
      failpoint: place => failpoint(`dispatch-compare.list.${place}`),
    }
    const all = await cloud.call('list', call, driver => driver.list(call))
    return all.filter(({ state, tags }) => state !== 'gone' && tagging.isOurs(tags))
  }

  async #adoptAll(listed: readonly Instance[], mark: Mark): Promise<boolean> {
    for (let at = 0; at < listed.length; at += breadth) {
      this.#duty.signal.throwIfAborted()
      const some = listed.slice(at, at + breadth)
      const adopted = await Promise.all(some.map(instance => adopt(this.#options, instance, mark)))
      if (adopted.includes(false)) return false
    }
    return true
  }
}
