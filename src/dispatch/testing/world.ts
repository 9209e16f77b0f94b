/** A cloud, a queue and runners in memory, with a clock that jumps: `decide` is carried out as keepers would. Pure. */
import { decide } from '../decide.ts'
import { afterCreate, calm } from '../throttle.ts'
import type { Assigned, Decisions, Input, Machine, MachineType, Need, Rules, Throttle, Waiting } from '../types.ts'

const mib = 1024 ** 2
const pollMs = 10_000
export const gib = 1024 ** 3

export const typeOf = (name: string, size: number, price: number, over: Partial<MachineType> = {}): MachineType => ({
  ...{ name, group: 'm', vcpus: size, ramBytes: size * 4 * gib, scratchBytes: size * 50 * gib, gpus: 0 },
  ...{ preemptible: false, price, ...over },
})

export const needOf = (size: number, over: Partial<Need> = {}): Need => ({
  ...{ vcpus: size, ramBytes: size * 3 * gib, scratchBytes: size * gib, gpus: 0, preemptible: false, ...over },
})

/** Arvados' own, without bounds on creation. */
export const someRules: Rules = {
  ...{ maxInstances: 64, maxConcurrentInstanceCreateOps: 1000, maximumPriceFactor: 1.5, maxDispatchAttempts: 10 },
  ...{ maxContainersPerMachine: 1, supervisorFraction: 0.5, reserveExtraRamBytes: 550 * mib, tenants: new Map() },
  ...{ timeoutIdleMs: 60_000, timeoutBootingMs: 600_000, timeoutProbeMs: 600_000 },
}

export const waitingOf = (uuid: string, shape: string, over: Partial<Waiting> = {}): Waiting => ({
  ...{ uuid, shape, tenant: 'default', priority: 1, queuedMs: 0, attempts: 0, supervisor: false, ...over },
})

export const machineOf = (id: string, type: string, over: Partial<Machine> = {}): Machine => ({
  ...{
    id,
    type,
    tenant: 'default',
    state: 'idle',
    sinceMs: 0,
    probedMs: 0,
    idleBehavior: 'run',
    broken: false,
    containers: [],
    ...over,
  },
})

/** A container's own word of how long it runs. */
export type Job = Waiting & { readonly runsMs: number }

export interface WorldOptions extends Pick<Input, 'shapes' | 'types' | 'rules'> {
  readonly bootMs: number
  readonly destroyMs: number
  /** The cloud's refusal of the creation with this number. */
  readonly refuses?: (number: number, type: string) => 'RateLimited' | 'AtQuota' | 'NoCapacity' | undefined
  /** It never answers after its boot. */
  readonly isDead?: (number: number) => boolean
}

export interface Run {
  readonly uuid: string
  readonly machine: string
  readonly type: string
  readonly fromMs: number
  readonly toMs: number
}

export class World {
  nowMs = 0
  throttle: Throttle = calm
  readonly runs: Run[] = []
  readonly failed: Decisions['fail'][number][] = []
  passes = 0
  /** The cost of all machines that are gone. */
  cost = 0
  readonly #options: WorldOptions
  readonly queue = new Map<string, Job>()
  readonly machines = new Map<string, Machine>()
  readonly #jobs = new Map<string, Job>()
  /** When something happens to a machine by itself, or a container ends. */
  readonly #events = new Map<string, number>()
  readonly #born = new Map<string, number>()
  readonly #dead = new Set<string>()
  readonly #groups: ReadonlyMap<string, MachineType>
  #creations = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.#groups = new Map(options.types.map(type => [type.name, type]))
  }

  submit(job: Job): void {
    this.queue.set(job.uuid, job)
    this.#jobs.set(job.uuid, job)
  }

  input(): Input {
    const { shapes, types, rules } = this.#options
    const { throttle, nowMs } = this
    return {
      shapes,
      types,
      rules,
      throttle,
      nowMs,
      queue: [...this.queue.values()],
      machines: [...this.machines.values()],
    }
  }

  pass(): Decisions {
    const decisions = decide(this.input())
    this.passes += 1
    this.#apply(decisions)
    return decisions
  }

  /** To the next event of a machine or of time, or the next poll. */
  advance(dueMs: number | undefined, untilMs: number): void {
    this.nowMs = Math.min(untilMs, this.nowMs + pollMs, dueMs ?? untilMs, ...this.#events.values())
    for (const [id, atMs] of this.#events) if (atMs <= this.nowMs) this.#happen(id)
    this.#probe()
  }

  #probe(): void {
    for (const [id, machine] of this.machines) {
      if (!this.#dead.has(id)) this.machines.set(id, { ...machine, probedMs: this.nowMs })
    }
  }

  #apply({ unassign, assign, create, shutdown, fail }: Decisions): void {
    for (const { machine, container } of unassign) this.#drop(machine, container)
    for (const { machine, container } of assign) this.#give(machine, container)
    for (const each of create) this.#create(each)
    for (const { machine } of shutdown) {
      this.#set(machine, each => ({ ...each, containers: [], state: 'shutdown', sinceMs: this.nowMs }))
      this.#events.set(machine, this.nowMs + this.#options.destroyMs)
    }
    for (const each of fail) {
      this.failed.push(each)
      this.queue.delete(each.container)
    }
  }

  #give(id: string, uuid: string): void {
    const { tenant } = this.#jobs.get(uuid)!
    this.#set(id, machine => ({ ...machine, tenant, containers: [...machine.containers, this.#unsent(uuid)] }))
    if (['idle', 'running'].includes(this.machines.get(id)!.state)) this.#start(id, uuid)
  }

  #unsent(uuid: string): Assigned {
    const { supervisor, shape } = this.#jobs.get(uuid)!
    return { uuid, sent: false, supervisor, need: this.#options.shapes.get(shape)! }
  }

  #drop(id: string, uuid: string): void {
    this.#set(id, each => ({ ...each, containers: each.containers.filter(its => its.uuid !== uuid) }))
  }

  #create({ type, containers, tenant }: Decisions['create'][number]): void {
    this.#creations += 1
    const kind = this.#options.refuses?.(this.#creations, type)
    const { group } = this.#groups.get(type)!
    if (kind) {
      const count = [...this.machines.values()].filter(each => this.#groups.get(each.type)?.group === group).length
      const outcome = { kind, type, group, count, untilMs: this.nowMs + 5000 }
      this.throttle = afterCreate(this.throttle, outcome, this.nowMs)
      return
    }
    this.throttle = afterCreate(this.throttle, { kind: 'created', type }, this.nowMs)
    const id = `i-${this.#creations}`
    const state = 'booting' as const
    const its = { state, tenant, sinceMs: this.nowMs, containers: containers.map(uuid => this.#unsent(uuid)) }
    this.machines.set(id, machineOf(id, type, its))
    this.#born.set(id, this.nowMs)
    if (this.#options.isDead?.(this.#creations)) this.#dead.add(id)
    else this.#events.set(id, this.nowMs + this.#options.bootMs)
  }

  /** The runner has it: nobody takes it back from here. */
  #start(id: string, uuid: string): void {
    const job = this.#jobs.get(uuid)!
    this.queue.delete(uuid)
    this.#set(id, each => ({
      ...each,
      ...(each.state !== 'running' && { state: 'running', sinceMs: this.nowMs }),
      containers: each.containers.map(its => (its.uuid === uuid ? { ...its, sent: true } : its)),
    }))
    const toMs = this.nowMs + job.runsMs
    this.#events.set(uuid, toMs)
    this.runs.push({ uuid, machine: id, type: this.machines.get(id)!.type, fromMs: this.nowMs, toMs })
  }

  #happen(name: string): void {
    this.#events.delete(name)
    const machine = this.machines.get(name)
    if (!machine) this.#end(name)
    else if (machine.state === 'shutdown') this.#vanish(machine)
    else {
      this.#set(name, each => ({ ...each, state: 'idle', sinceMs: this.nowMs }))
      for (const { uuid } of machine.containers) this.#start(name, uuid)
    }
  }

  #end(uuid: string): void {
    const { machine } = this.runs.find(run => run.uuid === uuid)!
    this.#drop(machine, uuid)
    const isLast = this.machines.get(machine)!.containers.every(({ sent }) => !sent)
    if (isLast) this.#set(machine, each => ({ ...each, state: 'idle', sinceMs: this.nowMs }))
  }

  #vanish({ id, type, sinceMs }: Machine): void {
    this.machines.delete(id)
    this.cost += (this.#groups.get(type)!.price * (sinceMs - this.#born.get(id)!)) / 3_600_000
  }

  #set(id: string, change: (machine: Machine) => Machine): void {
    this.machines.set(id, change(this.machines.get(id)!))
  }
}

/** Runs until nothing waits and the cloud is empty. @returns whether that came before `untilMs` */
export function runToEnd(
  world: World,
  untilMs: number,
  each: (decisions: Decisions, before: Input) => void = () => {},
) {
  while (world.nowMs < untilMs) {
    const before = world.input()
    const decisions = world.pass()
    each(decisions, before)
    if (world.queue.size === 0 && world.machines.size === 0) return true
    world.advance(decisions.dueMs, untilMs)
  }
  return false
}
