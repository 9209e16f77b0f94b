/** The lessons of the cloud's answers, and the pace of calls, for all replicas: both are in Redis. */
import { RetryLater } from '../base/errors.ts'
import { afterCreate, type CreateOutcome } from '../dispatch/throttle.ts'
import type { MachineStore } from '../store/dispatch/machines.ts'
import type { SchedulingStore } from '../store/dispatch/scheduling.ts'

export interface ThrottlesOptions {
  readonly store: Pick<SchedulingStore, 'throttle' | 'setThrottle' | 'reserveCall'>
  readonly machines: Pick<MachineStore, 'list'>
  /** Types of a group share a quota of the cloud. */
  readonly groupOf: (type: string) => string
  /** MaxCloudOpsPerSecond; 0 is no limit. */
  readonly perSecond: number
}

/** How often another replica may have learnt something first. */
const mostRounds = 20
/** Nobody waits longer for his turn at the cloud: he comes again, and others meanwhile. */
const mostWaitMs = 10_000

export class Throttles {
  readonly #options: ThrottlesOptions

  constructor(options: ThrottlesOptions) {
    this.#options = options
  }

  /**
   * Writes the lesson of a creation. For an exhausted quota it counts the machines of the group now.
   * @throws {RetryLater} when Redis does not answer
   */
  async teach(outcome: CreateOutcome): Promise<void> {
    const { store } = this.#options
    const learnt = outcome.kind === 'AtQuota' ? { ...outcome, count: await this.#countOf(outcome.group) } : outcome
    for (let round = 0; round < mostRounds; round += 1) {
      const { throttle, version, nowMs } = await store.throttle()
      const next = afterCreate(throttle, learnt, nowMs)
      if (next === throttle || (await store.setThrottle(next, version))) return
    }
    throw new RetryLater('other replicas write what the cloud teaches')
  }

  /**
   * Reserves a turn for one call of the cloud.
   * @returns in how many milliseconds it may be made
   * @throws {RetryLater} when too many wait already, or Redis does not answer
   */
  async reserve(): Promise<number> {
    const { store, perSecond } = this.#options
    if (perSecond === 0) return 0
    const waitMs = await store.reserveCall(perSecond, mostWaitMs)
    if (waitMs === null) throw new RetryLater('other calls of the cloud come first', mostWaitMs / 2)
    return waitMs
  }

  /** Machines of the group that the cloud counts: all but those that it never made. */
  async #countOf(group: string): Promise<number> {
    const machines = await this.#options.machines.list()
    return machines.filter(({ type, instance }) => instance !== '' && this.#options.groupOf(type) === group).length
  }
}
