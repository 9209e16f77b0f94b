/**
 * Mirrors Arvados' queue into ours, and the states of its containers back. One replica does it, by lease. Its knowledge of
 * Arvados is only in its memory, and the next holder of the lease reads it anew; what is owed follows from both states
 * (`dispatch/mirrored.ts`). Two replicas do no harm: Redis is written only under the lease's token, Arvados is changed only once
 * the token was seen to hold the lease, and Arvados refuses a second lock and an invalid transition.
 */
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { restAfter } from '../base/loop.ts'
import { dutyOf, type Mirrored, type Telling } from '../dispatch/mirrored.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { Leases } from '../leases/leases.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import type { MirrorReading, MirrorStore } from '../store/dispatch/mirror.ts'
import { containerKind } from '../store/dispatch-keys.ts'
import type { Missed, Ring } from '../store/rings.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Listed } from './answers.ts'
import { type ArvadosClient, ArvadosError } from './client.ts'
import { type Calls, Intake, type IntakeOptions } from './intake.ts'
import { Knowledge } from './knowledge.ts'

export interface MirrorOptions extends Omit<IntakeOptions, 'store' | 'client' | 'knowledge'> {
  readonly store: Pick<MirrorStore, 'read' | 'check' | 'mirror' | 'settle' | 'noteOverload'>
  readonly containers: Pick<ContainerStore, 'change' | 'list'>
  /** How many waiting containers of Arvados are looked at. */
  readonly mostListed: number
  /** Records of Arvados that are not as they must be. */
  readonly onBad: (count: number) => void
  readonly client: Pick<ArvadosClient, 'current' | 'list' | 'get' | 'act' | 'update'>
  /** Key of the lease. */
  readonly lease: string
  readonly leases: Pick<Leases, 'acquireTask'>
  readonly clock: Clock
  readonly log: Logger
  /** PollInterval. */
  readonly pollMs: number
  /** How often a replica without the lease tries to take it. */
  readonly scanMs: number
  /** Called once Arvados has changed a container here. */
  readonly onChanged: (what: 'cancel' | 'prioritise', uuid: string) => void
  readonly onRound: (report: RoundReport) => void
}

/** For metrics. */
export interface RoundReport {
  readonly mirrored: number
  /** Containers with a report that Arvados does not have yet. */
  readonly owed: number
}

/** The pause after a round: the next one covers all rings meanwhile. */
const gatherMs = 100
/** A round over much is followed by a rest as long as itself. */
const restByWork = 1
const mostFailures = 3
const backoff = { baseMs: 500, capMs: 10_000 }
/** After a 503 without a time of its own. */
const busyMs = 1_000

export class Mirror {
  readonly #options: MirrorOptions
  readonly #duty: Duty
  readonly #knowledge: Knowledge
  readonly #intake: Intake
  /** Containers of ours that are mirrored, as the last round has read. */
  #uuids: ReadonlySet<string> = new Set()
  /** By container whose last change was refused: in which poll. */
  readonly #refused = new Map<string, number>()
  /** Consecutive rounds that could not read Arvados. */
  #failures = 0
  /** No call before this time of our clock. */
  #pausedMs = 0

  constructor(options: MirrorOptions) {
    const { clock, leases, lease, log } = options
    this.#options = options
    this.#knowledge = new Knowledge(options)
    this.#intake = new Intake({ ...options, knowledge: this.#knowledge })
    this.#duty = new Duty({
      ...{ clock, leases, lease },
      round: take => this.#round(take),
      failed: (error, failures) => {
        log.warn({ reason: (error as Error).message }, 'mirroring of Arvados is put off')
        return restAfter(failures, backoff)
      },
      onEnd: () => this.#forget(),
    })
  }

  start(): void {
    this.#duty.start()
  }

  /** Awaits the round in progress, and releases the lease. */
  async stop(): Promise<void> {
    await this.#duty.stop()
  }

  /** A round begins soon where a mirrored container, or everything, may have changed. */
  hear({ subject }: Ring | Missed): void {
    if (!subject || (subject.kind === containerKind && this.#uuids.has(subject.name))) this.#duty.wake()
  }

  #forget(): void {
    this.#knowledge.clear()
    this.#intake.clear()
    this.#uuids = new Set()
    // Another replica tells the numbers from here on.
    this.#options.onRound({ mirrored: 0, owed: 0 })
  }

  async #round(take: Take): Promise<DutyRest> {
    const { scanMs, clock, store, pollMs } = this.#options
    const token = await take()
    if (token === null) return { ms: 0, deafMs: scanMs }
    const begunMs = clock.monotonicMs()
    if (this.#pausedMs > begunMs) return { ms: 0, deafMs: this.#pausedMs - begunMs, keep: true }
    const reading = await store.read(token)
    if (!reading) return { ms: 0, deafMs: scanMs }
    this.#note(reading)
    const isMore = (await this.#refreshed(reading)) && (await this.#carryOut(token, reading))
    const nowMs = clock.monotonicMs()
    const deafMs = Math.max(gatherMs, restByWork * (nowMs - begunMs), this.#pausedMs - nowMs)
    const dueMs = isMore ? 0 : Math.min(this.#knowledge.dueInMs(pollMs), this.#intake.dueInMs())
    return { ms: Math.max(0, dueMs - deafMs), deafMs, keep: true }
  }

  /** @returns false if Arvados could not be read. @throws {ArvadosError} after some times: another replica may reach it */
  async #refreshed({ mirrored }: MirrorReading): Promise<boolean> {
    const { pollMs } = this.#options
    const answer = await this.#tried(() => this.#knowledge.refresh(mirrored, pollMs, this.#duty.signal))
    if (!(answer instanceof ArvadosError)) {
      this.#failures = 0
      return true
    }
    this.#failures += 1
    if (this.#failures >= mostFailures) throw answer
    if (!this.#calls.paused()) this.#pause(pollMs)
    return false
  }

  /** The next round sees changes that come here while Arvados is asked. @returns whether there may be more to do */
  async #carryOut(token: string, reading: MirrorReading): Promise<boolean> {
    const { signal } = this.#duty
    let done = 0
    for (const each of reading.mirrored) {
      signal.throwIfAborted()
      done += Number(await this.#settle(token, each, signal))
    }
    if (!this.#calls.paused()) done += await this.#intake.round(token, reading, this.#calls, signal)
    return done > 0
  }

  #note({ mirrored }: MirrorReading): void {
    this.#uuids = new Set(mirrored.map(({ uuid }) => uuid))
    for (const [theirs, polls] of this.#refused) if (polls !== this.#knowledge.polls) this.#refused.delete(theirs)
    const owed = mirrored.filter(each => dutyOf(each, this.#knowledge.of(each.theirs))?.do === 'tell').length
    this.#options.onRound({ mirrored: mirrored.length, owed })
  }

  /** @returns whether more may be owed at once */
  async #settle(token: string, each: Mirrored, signal: AbortSignal): Promise<boolean> {
    const { store, containers, log, onChanged, failpoint } = this.#options
    const { theirs, uuid } = each
    const duty = dutyOf(each, this.#knowledge.of(theirs))
    if (!duty) return false
    if (duty.do === 'tell') {
      if (this.#calls.paused()) return false
      const isTold = await this.#calls.attempt(token, theirs, () => this.#tell(theirs, duty.telling, signal))
      await failpoint('arvados.told')
      return isTold
    }
    if (duty.do === 'back' || duty.do === 'forget') return store.settle(token, theirs, uuid, duty.do)
    const change = duty.do === 'cancel' ? { cancel: duty.reason } : { priority: duty.priority }
    // A former holder would bring back what Arvados wanted before.
    await store.check(token)
    try {
      await containers.change(uuid, undefined, change)
    } catch (error) {
      // A machine that was not asked may run it. A later round changes it, and the others do not wait for that machine.
      if (!(error instanceof ApiError)) throw error
      return false
    }
    log.info({ theirs, container: uuid, ...change }, 'Arvados changes a container')
    onChanged(duty.do, uuid)
    return false
  }

  #tell(theirs: string, telling: Telling, signal: AbortSignal): Promise<Listed> {
    const { client } = this.#options
    return telling.what === 'unlock'
      ? client.act('unlock', theirs, signal)
      : client.update(theirs, telling.attributes, signal)
  }

  readonly #calls: Calls = {
    /** Keeps Arvados' answer. The next round asks about a change that is not known to be done. */
    attempt: async (token, theirs, change) => {
      const { polls } = this.#knowledge
      // A refused change is tried once in each poll, not in each round.
      if (this.#refused.get(theirs) === polls) return false
      // A former holder may unlock what its successor has locked: that one may run already.
      await this.#options.store.check(token)
      const answer = await this.#tried(change)
      if (!(answer instanceof ArvadosError)) {
        this.#knowledge.learn(answer)
        return true
      }
      if (answer.outcome === 'refused' || answer.outcome === 'gone') this.#refused.set(theirs, polls)
      this.#knowledge.doubt(theirs)
      return false
    },
    tried: async call => {
      const answer = await this.#tried(call)
      return answer instanceof ArvadosError ? undefined : answer
    },
    paused: () => this.#pausedMs > this.#options.clock.monotonicMs(),
  }

  /** A server that is not well is left alone for a while. */
  async #tried<T>(call: () => Promise<T>): Promise<T | ArvadosError> {
    const { log, store } = this.#options
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ArvadosError)) throw error
      log.warn({ reason: error.message }, 'Arvados did not do it')
      if (error.outcome !== 'refused' && error.outcome !== 'gone') this.#pause(error.afterMs ?? busyMs)
      if (error.outcome === 'busy') await store.noteOverload()
      return error
    }
  }

  #pause(ms: number): void {
    this.#pausedMs = this.#options.clock.monotonicMs() + ms
  }
}
