/** Dispatch's part of the store, compared, with a lease of the scheduler and owners of machines. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { MachineBrief } from '../../../src/dispatch/container.ts'
import type { Limits } from '../../../src/dispatch/room.ts'
import { Compares, type Mark } from '../../../src/store/compares.ts'
import type { Connection } from '../../../src/store/connection.ts'
import { type ContainerQuery, ContainerStore, type NewContainer } from '../../../src/store/dispatch/containers.ts'
import { type EndedLimits, EndedStore } from '../../../src/store/dispatch/ended.ts'
import type { Shape } from '../../../src/store/dispatch/forms.ts'
import { KeepingStore } from '../../../src/store/dispatch/keeping.ts'
import { MachineStore, type StrayMachine } from '../../../src/store/dispatch/machines.ts'
import {
  type Decision,
  type NewMachine,
  type Outcome,
  SchedulingStore,
} from '../../../src/store/dispatch/scheduling.ts'
import { OwnerStore, type Ownership } from '../../../src/store/owners.ts'
import { type OperationFields, type OperationRecord, parseOperation } from '../../../src/store/records.ts'
import { holdMs, type Store, sealing, tombstoneMs, ttlMs, useStore } from '../store/store.ts'
import { brokenRules } from './invariants.ts'

export const clusterId = 'zzzzz'
export const maxDispatchAttempts = 3

/** What machines of these tests may hold. */
export const room: Limits = {
  places: 2,
  extraRamBytes: 0,
  most: { vcpus: 4, ramBytes: 8 * 2 ** 30, scratchBytes: 0, gpus: 0 },
}

/** As by default, but for a smaller number. */
export const endedLimits: EndedLimits = { keepMs: 7 * 86_400_000, containers: 1_000, bytes: 128 * 2 ** 20 }

/** As by default. */
export const activeBytes = 64 * 2 ** 20

export const shape = (more: Partial<Shape['need']> = {}, rest: Partial<Omit<Shape, 'need'>> = {}): Shape => ({
  need: { vcpus: 1, ramBytes: 2 ** 30, scratchBytes: 0, gpus: 0, preemptible: false, ...more },
  ...{ tenant: 'default', supervisor: false, ...rest },
})

export const view = (owner = 'ada', runs = 3): NewContainer['view'] => ({
  owner,
  command: ['true'],
  container_image: 'busybox',
  environment: { A: 'b', TOKEN: '***' },
  cwd: '/',
  mounts: {},
  runtime_constraints: { vcpus: 1, ram: 2 ** 30, gpus: 0 },
  scheduling_parameters: { preemptible: false, supervisor: false, max_run_time: 0 },
  container_count_max: runs,
})

export const container = (more: Partial<NewContainer> = {}): NewContainer => ({
  ...{ nonce: randomUUID(), view: view(), shape: shape(), priority: 500, sealSpec: (id, name) => `spec ${id} ${name}` },
  ...more,
})

export const stray = (instance: string, more: Partial<StrayMachine> = {}): StrayMachine => ({
  ...{
    instance,
    intent: '',
    type: 'small',
    providerType: 't3.small',
    price: 0.1,
    tenant: 'default',
    address: '10.0.0.1:22',
  },
  ...{ idleBehavior: 'run', hostKey: '', timeoutMs: 60_000, sealPlan: (id, name) => `plan ${id} ${name}`, ...more },
})

export class Dispatch {
  readonly store: Store
  readonly connection: Connection
  readonly containers: ContainerStore
  readonly machines: MachineStore
  readonly ended: EndedStore
  readonly keeping: KeepingStore
  readonly scheduling: SchedulingStore
  readonly owners: OwnerStore
  readonly compares: Compares
  /** Of the schedule lease. */
  readonly token = `scheduler-${randomUUID()}`

  /** @param maxContainersPerMachine for adoption alone: an assignment says itself what a machine may hold */
  constructor(store: Store, connection = store.connection, maxContainersPerMachine = 1) {
    this.store = store
    this.connection = connection
    const { keys } = store
    this.containers = this.containersWithin(activeBytes)
    this.machines = new MachineStore({ connection, keys, sealing })
    this.ended = new EndedStore(connection, keys, endedLimits)
    this.keeping = new KeepingStore({ connection, keys, maxDispatchAttempts, maxContainersPerMachine })
    this.scheduling = new SchedulingStore(connection, keys)
    this.owners = new OwnerStore<OperationRecord, OperationFields>({
      ...{ connection, keys, sealing, tombstoneMs, holdMs },
      family: keys.dispatch.machines,
      form: { parse: parseOperation, names: {} },
      drawsEpochs: true,
      clock: systemClock,
    })
    this.compares = new Compares(connection, keys.dispatch.compare(keys))
  }

  /** Those of a replica that has another limit. */
  containersWithin(activeBytes: number): ContainerStore {
    const { connection, store } = this
    const of = { keys: store.keys, sealing, clusterId, idempotencyMs: 600_000 }
    return new ContainerStore({ connection, ...of, activeBytes })
  }

  /** Takes the schedule lease from its holder. */
  async schedule(token = this.token): Promise<void> {
    await this.store.redis.set(this.store.keys.dispatch.scheduleLease, token)
  }

  async compare(between: (mark: Mark) => Promise<void> = async () => {}, highestOp = 0): Promise<Mark> {
    const mark = await this.compares.begin(randomUUID(), 1)
    await between(mark)
    if (!(await this.compares.end(mark, highestOp))) throw new Error('the compare was overtaken')
    // As if its time had passed.
    await this.store.redis.del(this.store.keys.dispatch.hold)
    return mark
  }

  /** Drops what is beyond other limits, which hold from here on. @returns how many outputs and containers */
  async dropBeyond(limits: Partial<EndedLimits>): Promise<number> {
    return new EndedStore(this.connection, this.store.keys, { ...endedLimits, ...limits }).dropExcess()
  }

  /** @returns the uuid */
  async accept(more: Partial<NewContainer> = {}): Promise<string> {
    const accepted = await this.containers.accept(container(more))
    if (accepted.answer !== 'accepted') throw new Error(`not accepted: ${accepted.answer}`)
    return accepted.uuid
  }

  async found(uuid: string) {
    const found = await this.containers.find(uuid)
    if (!found) throw new Error(`no container ${uuid}`)
    return found
  }

  async machine(name: string): Promise<MachineBrief> {
    const found = await this.machines.find(name)
    if (!found) throw new Error(`no machine ${name}`)
    return found
  }

  async newMachine(more: Partial<NewMachine> = {}): Promise<NewMachine> {
    const drawn = await this.scheduling.draw(1, sealing.ids)
    const [name] = drawn!.names
    const of = { name: name!, keyId: drawn!.keyId, nonce: randomUUID(), sealedPlan: `plan of ${name}` }
    return { ...of, type: 'small', providerType: 't3.small', price: 0.1, tenant: 'default', timeoutMs: 60_000, ...more }
  }

  async write(...decisions: Decision[]): Promise<readonly Outcome[]> {
    const outcomes = await this.scheduling.write(this.token, decisions)
    if (!outcomes) throw new Error('the lease is lost')
    return outcomes
  }

  /** A machine that is created for a container. */
  async create(uuid: string, more: Partial<NewMachine> = {}): Promise<string> {
    const create = await this.newMachine(more)
    const outcome = await this.write({ what: 'create', container: await this.at(uuid), create })
    expect(outcome).toEqual(['done'])
    return create.name
  }

  /** A container or machine with its present version. */
  async at(id: string) {
    const isContainer = id.startsWith(`${clusterId}-`)
    const { version } = isContainer ? await this.found(id) : await this.machine(id)
    return { id, version }
  }

  /** @param room without it, alone */
  async assign(uuid: string, name: string, room?: Limits): Promise<Outcome> {
    const at = { container: await this.at(uuid), machine: await this.at(name) }
    const decision = { what: 'assign', ...at, ...(room && { room }) } as const
    return (await this.write(decision))[0]!
  }

  /** Takes the machine's operation, as an engine does, also from another one. */
  async own(name: string): Promise<Ownership & { readonly epoch: number }> {
    const { redis, keys } = this.store
    const token = `keeper-${randomUUID()}`
    await redis.set(keys.dispatch.machines.lease(name), token, 'PX', ttlMs)
    const claim = await this.owners.claim(name, token, ttlMs)
    if (!claim) throw new Error(`nothing of ${name} to own`)
    return { name, op: claim.record.op, token, epoch: claim.epoch! }
  }

  /** A machine that was booted for a container, with its owner. */
  async boot(uuid: string, instance = `i-${randomUUID()}`) {
    const by = await this.own(await this.create(uuid))
    await this.keeping.keep(by, { instance, address: '10.0.0.1:22', state: 'idle', asked: true })
    return by
  }

  /** A container that was sent, and its machine's owner. */
  async sent(more: Partial<NewContainer> = {}) {
    const uuid = await this.accept(more)
    const by = await this.boot(uuid)
    const sent = await this.keeping.send(by, uuid)
    if (sent.answer !== 'send') throw new Error(`not sent: ${sent.answer}`)
    return { uuid, by, run: sent.run }
  }

  async listed(query: Partial<ContainerQuery> = {}): Promise<string[]> {
    const { containers } = await this.containers.list({ limit: 100, ...query })
    return containers.map(({ view }) => view.uuid)
  }

  /** Events of a container as [event, data]. */
  async told(uuid: string): Promise<[string, Record<string, unknown>][]> {
    const read = await this.containers.stream(uuid).read(undefined, 0, 1000)
    return read.found ? read.events.map(({ event, data }) => [event, JSON.parse(data)]) : []
  }

  async check(): Promise<void> {
    expect(await brokenRules(this.store.redis, this.store.keys)).toEqual([])
  }
}

/** For each test a compared store, whose rules hold at its end. */
export function useDispatch(): () => Dispatch {
  const store = useStore()
  let dispatch: Dispatch
  beforeEach(async () => {
    dispatch = new Dispatch(store())
    await dispatch.compare()
    await dispatch.schedule()
  })
  afterEach(async () => dispatch.check())
  return () => dispatch
}
