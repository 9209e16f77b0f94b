/** Schedulers on a real Redis, as replicas have them, and keepers that do nothing but write what a machine would make them write. */
import { systemClock } from '../../../src/base/clock.ts'
import type { OfferedType } from '../../../src/dispatch/configured.ts'
import type { MachineBrief } from '../../../src/dispatch/container.ts'
import { someRules, typeOf } from '../../../src/dispatch/testing/world.ts'
import type { Rules } from '../../../src/dispatch/types.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { type PassReport, Scheduler, type SchedulerOptions } from '../../../src/pool/scheduler.ts'
import { Bell } from '../../../src/store/bell.ts'
import type { Ownership } from '../../../src/store/owners.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import type { Dispatch } from '../dispatch/store.ts'
import { ttlMs } from '../store/store.ts'

export const offered: readonly OfferedType[] = [
  { ...typeOf('small', 1, 1), providerType: 't.small', addedScratchBytes: 0 },
  { ...typeOf('large', 8, 6), providerType: 't.large', addedScratchBytes: 0 },
]

export interface Replica {
  readonly scheduler: Scheduler
  readonly passes: PassReport[]
  stop(): Promise<void>
}

export interface ReplicaOptions extends Partial<Pick<SchedulerOptions, 'failpoint' | 'pollMs' | 'store'>> {
  readonly rules?: Partial<Rules>
}

const sealer = { ids: 'first second', seal: (text: string) => `sealed ${text}` }

/** A scheduler with leases and a bell of its own. It is started. */
export function replicaOf(dispatch: Dispatch, options: ReplicaOptions = {}): Replica {
  const { store, scheduling, connection, owners } = dispatch
  const { keys, tasks } = store
  const leases = new Leases({
    ...{ redis: connection.commands, owners, tasks, clock: systemClock, ttlMs },
    keyOf: name => keys.dispatch.machines.lease(name),
  })
  const bell = new Bell(connection, keys.bell, systemClock)
  const passes: PassReport[] = []
  const scheduler = new Scheduler({
    ...{ store: options.store ?? scheduling, lease: keys.dispatch.scheduleLease, leases, clock: systemClock },
    ...{ log: silentLogger(), pollMs: options.pollMs ?? 10_000, scanMs: 100, lifeMs: 60_000, initialQuotaEstimate: 0 },
    ...{ sealer, pool: { types: offered, rules: { ...someRules, ...options.rules } } },
    offerOf: type => offered.find(({ name }) => name === type)!,
    onPass: report => void passes.push(report),
    failpoint: options.failpoint ?? (() => {}),
  })
  bell.on(ring => scheduler.hear(ring))
  const listening = bell.listen()
  scheduler.start()
  const stop = async () => {
    await scheduler.stop()
    bell.close()
    await leases.close()
    void listening
  }
  return { scheduler, passes, stop }
}

/** Keepers of all machines, played by one: machines boot at once, run what they are given, and end on request. */
export class Keepers {
  readonly #dispatch: Dispatch
  readonly #own = new Map<string, Ownership>()
  /** Every start: which machine was asked to run what. */
  readonly starts: { readonly uuid: string; readonly machine: string; readonly run: number }[] = []

  constructor(dispatch: Dispatch) {
    this.#dispatch = dispatch
  }

  /** One look at every machine. */
  async step(): Promise<void> {
    for (const brief of await this.#dispatch.machines.list()) await this.#keep(brief)
  }

  async #keep(brief: MachineBrief): Promise<void> {
    const { keeping } = this.#dispatch
    const { name, state, ending, containers, idleBehavior } = brief
    const by = this.#own.get(name) ?? (await this.#dispatch.own(name))
    this.#own.set(name, by)
    if (ending !== '') {
      await keeping.gone(by)
      await this.#dispatch.owners.finish(by, 0, [], 'gone', {})
      return
    }
    if (state === 'creating' || state === 'unknown') {
      await keeping.keep(by, { instance: brief.instance || `i-${name}`, state: 'idle', probed: true, asked: true })
      return
    }
    for (const { uuid, run } of containers) {
      if (run > 0) await keeping.tell(by, uuid, run, { what: 'ended', atMs: 0, exitCode: 0 })
      else if (idleBehavior === 'run') await this.#start(by, uuid)
    }
  }

  async #start(by: Ownership, uuid: string): Promise<void> {
    const { keeping } = this.#dispatch
    const sent = await keeping.send(by, uuid)
    if (sent.answer !== 'send') return
    this.starts.push({ uuid, machine: by.name, run: sent.run })
    await keeping.tell(by, uuid, sent.run, { what: 'running', atMs: 0, gatewayAddress: '' })
  }
}
