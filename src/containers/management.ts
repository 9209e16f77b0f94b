/** Requests of operators, by Arvados' names: to list queued containers and machines, and to stop them. */
import { ApiError } from '../base/errors.ts'
import type { OfferedType } from '../dispatch/configured.ts'
import { type ContainerState, type MachineBrief, sentOf } from '../dispatch/container.ts'
import { fitOf } from '../dispatch/fits.ts'
import type { Rules } from '../dispatch/types.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import type { ContainerShown } from '../store/dispatch/forms.ts'
import type { MachineStore } from '../store/dispatch/machines.ts'
import { sentence, timeOf } from './json.ts'
import { containerEnded, machineEnds, noMachine } from './problems.ts'
import { waitsOf } from './waits.ts'

/** As Arvados' `InstanceView`; what is below the line is ours. */
export interface InstanceJson {
  readonly instance: string
  readonly address: string
  readonly price: number
  readonly arvados_instance_type: string
  readonly provider_instance_type: string
  readonly last_container_uuid: string
  readonly last_busy: string
  readonly running_container_uuids: readonly string[]
  readonly worker_state: 'unknown' | 'booting' | 'idle' | 'running' | 'shutdown'
  readonly idle_behavior: MachineBrief['idleBehavior']
  // ---
  readonly name: string
  readonly tenant: string
  readonly created_at: string
  /** Why it is being shut down; '' if it is not. */
  readonly ending: string
  /** Why it gets no container any more; '' if it does. */
  readonly broken: string
}

/** As Arvados' `InstanceType`. */
export interface TypeJson {
  readonly Name: string
  readonly ProviderType: string
  readonly VCPUs: number
  readonly RAM: number
  readonly IncludedScratch: number
  readonly AddedScratch: number
  readonly Price: number
  readonly Preemptible: boolean
}

/** As Arvados' `QueueEnt`. */
export interface QueuedJson {
  readonly container: {
    readonly uuid: string
    readonly owner: string
    readonly state: ContainerState
    readonly priority: number
    readonly container_image: string
    readonly runtime_constraints: ContainerShown['view']['runtime_constraints']
    readonly scheduling_parameters: ContainerShown['view']['scheduling_parameters']
    readonly created_at: string
    readonly started_at: string | null
  }
  /** Those that it fits, cheapest first. */
  readonly instance_types: readonly TypeJson[]
  readonly first_seen_at: string
  readonly scheduling_status: string
}

export type Change = 'hold' | 'drain' | 'run'

/** Every method throws {ApiError} and {RetryLater}. */
export interface Management {
  /** `more`: there are more than this, which are not among them. */
  containers(): Promise<{ readonly items: readonly QueuedJson[]; readonly more: boolean }>
  /** @throws {ApiError} 404 also for one that has ended */
  container(uuid: string): Promise<QueuedJson>
  /** @throws {ApiError} 409 when it has ended */
  killContainer(uuid: string, reason: string): Promise<void>
  instances(): Promise<readonly InstanceJson[]>
  /** @returns whether the cloud's tag is written too: it outlives Redis. @throws {ApiError} 409 when it is ending */
  setBehavior(id: string, change: Change): Promise<boolean>
  /** A machine that is ending already goes on ending. */
  killInstance(id: string, reason: string): Promise<void>
}

export interface ManagementOptions {
  readonly containers: Pick<ContainerStore, 'list' | 'find' | 'change'>
  readonly machines: Pick<MachineStore, 'list' | 'setBehavior' | 'kill'>
  readonly types: () => readonly OfferedType[]
  readonly rules: Pick<Rules, 'maximumPriceFactor' | 'reserveExtraRamBytes'>
  /** Resolves with true when the tag of the machine says so, and with false when that takes long. Default: nobody knows. */
  readonly whenTagged?: ((machine: MachineBrief) => Promise<boolean>) | undefined
}

/** An answer has no more: a queue can have 100,000. */
export const mostQueued = 1_000
const page = 100
/** In the order in which a container has them: one that moves on meanwhile is met at least once. */
const states = ['Queued', 'Locked', 'Running'] as const satisfies ContainerState[]

export class ManagementService implements Management {
  readonly #options: ManagementOptions

  constructor(options: ManagementOptions) {
    this.#options = options
  }

  async containers() {
    let found: readonly ContainerShown[] = []
    for (const state of states) {
      const read = await this.#inState(state)
      const later = new Set(read.map(({ view }) => view.uuid))
      // As Arvados' queue: what runs is first.
      found = [...read, ...found.filter(({ view }) => !later.has(view.uuid))]
    }
    const waits = waitsOf(this.#options.containers)
    const shown = found.slice(0, mostQueued)
    const items = await Promise.all(shown.map(async each => this.#queued(each, await waits(each))))
    return { items, more: found.length > mostQueued }
  }

  /** No more pages than an answer bears. */
  async #inState(state: ContainerState): Promise<ContainerShown[]> {
    const found: ContainerShown[] = []
    let after: string | undefined
    do {
      const read = await this.#options.containers.list({ state, limit: page, ...(after !== undefined && { after }) })
      found.push(...read.containers)
      after = read.next
    } while (after !== undefined && found.length <= mostQueued)
    return found
  }

  async container(uuid: string): Promise<QueuedJson> {
    const found = await this.#options.containers.find(uuid)
    if (!found || isOver(found.state)) throw noQueuedContainer()
    return this.#queued(found, found.status)
  }

  #queued(found: ContainerShown, waits: string): QueuedJson {
    const { types, rules } = this.#options
    const { view, state, priority, need, queuedMs, startedMs } = found
    const offered = types()
    const fit = fitOf(need, offered, rules)
    const fitting = 'none' in fit ? [] : fit.types
    return {
      container: {
        ...{ uuid: view.uuid, owner: view.owner, state, priority, container_image: view.container_image },
        ...{ runtime_constraints: view.runtime_constraints, scheduling_parameters: view.scheduling_parameters },
        ...{ created_at: timeOf(queuedMs) ?? zeroTime, started_at: timeOf(startedMs) },
      },
      instance_types: fitting.map(({ name }) => typeJson(offered.find(type => type.name === name)!)),
      ...{ first_seen_at: timeOf(queuedMs) ?? zeroTime, scheduling_status: sentence(found, waits) },
    }
  }

  async killContainer(uuid: string, reason: string): Promise<void> {
    const answer = await this.#options.containers.change(uuid, undefined, { cancel: viaManagement(reason) })
    if (answer === 'none') throw noQueuedContainer()
    if (answer === 'ended') throw containerEnded()
  }

  async instances(): Promise<readonly InstanceJson[]> {
    return (await this.#options.machines.list()).map(instanceJson)
  }

  async setBehavior(id: string, change: Change): Promise<boolean> {
    const { machines, whenTagged } = this.#options
    const set = await machines.setBehavior(id, change)
    if (set.answer === 'none') throw noMachine()
    if (set.answer === 'ending') throw machineEnds()
    return whenTagged ? whenTagged(set.machine) : false
  }

  async killInstance(id: string, reason: string): Promise<void> {
    const { answer } = await this.#options.machines.kill(id, viaManagement(reason))
    if (answer === 'none') throw noMachine()
  }
}

/** Go's zero time, as Arvados shows what never was. */
const zeroTime = '0001-01-01T00:00:00Z'

const viaManagement = (reason: string) => `via management API: ${reason}`

const isOver = (state: ContainerState) => state === 'Complete' || state === 'Cancelled'

const noQueuedContainer = () =>
  new ApiError(404, {
    msg: 'there is no container of this uuid',
    type: 'unknown_container',
    loc: ['query', 'container_uuid'],
  })

function instanceJson(brief: MachineBrief): InstanceJson {
  const { name, instance, address, price, type, providerType, state, idleBehavior, tenant, ending, broken } = brief
  return {
    ...{ instance, address, price, arvados_instance_type: type, provider_instance_type: providerType },
    last_container_uuid: brief.lastContainer,
    last_busy: timeOf(brief.busyMs || brief.createdMs) ?? zeroTime,
    // Those that it was not asked to run yet it can lose again.
    running_container_uuids: sentOf(brief).map(({ uuid }) => uuid),
    // Arvados has no machine before the cloud has it.
    worker_state: state === 'creating' ? 'booting' : state,
    ...{ idle_behavior: idleBehavior, name, tenant, created_at: timeOf(brief.createdMs) ?? zeroTime, ending, broken },
  }
}

const typeJson = (type: OfferedType): TypeJson => ({
  ...{ Name: type.name, ProviderType: type.providerType, VCPUs: type.vcpus, RAM: type.ramBytes },
  ...{ IncludedScratch: type.scratchBytes - type.addedScratchBytes, AddedScratch: type.addedScratchBytes },
  ...{ Price: type.price, Preemptible: type.preemptible },
})
