/** The state of a pass, and the place of each container in it. Pure. */
import { givenUp, isBusy } from './ends.ts'
import { type Fit, fitOf } from './fits.ts'
import { type Group, Groups } from './groups.ts'
import { Ledger, owe } from './ledger.ts'
import { inTurn } from './order.ts'
import { type Readiness, readinessOf, Shelves, type Slot } from './shelves.ts'
import type { Decisions, Input, Machine, MachineType, ShutdownReason, Waiting } from './types.ts'

/** A machine was asked to run it. */
const asked = 'asked'
const usable: ReadonlySet<string> = new Set(['creating', 'booting', 'idle'])

export class Pass {
  readonly ledger: Ledger
  /** Machines that may be given away. */
  readonly slots: readonly Slot[]
  readonly create: Decisions['create'][number][] = []
  readonly fail: Decisions['fail'][number][] = []
  readonly ended: [Pick<Slot, 'machine'>, ShutdownReason][] = []
  /** Who gets none. */
  readonly groups: Groups
  readonly #input: Input
  /** Places of the queue, in turn. */
  readonly #order: Uint32Array
  readonly #types: ReadonlyMap<string, MachineType>
  readonly #fits = new Map<string, Fit>()
  readonly #shelves: Shelves
  /** Containers that have a machine by this pass. */
  readonly #placed = new Set<string>()
  readonly #claims = new Map<string, Slot | typeof asked>()
  /** Of each in the queue, what it has. */
  readonly #own: readonly (Slot | typeof asked | undefined)[]
  #supervisors = 0
  /** Containers that have a machine which was asked, or get one. */
  #containers = 0

  constructor(input: Input) {
    this.#input = input
    this.#types = new Map(input.types.map(type => [type.name, type]))
    this.ledger = new Ledger(input)
    this.slots = input.machines.flatMap(machine => this.#slotOf(machine) ?? [])
    for (const [shape, need] of input.shapes) this.#fits.set(shape, fitOf(need, input.types, input.rules))
    this.groups = new Groups(input.queue, input.rules.maxDispatchAttempts)
    this.#order = inTurn(input.queue)
    this.#own = input.queue.map(({ uuid }) => this.#claims.get(uuid))
    this.#order.forEach((at, place) => {
      const own = this.#own[at]
      if (own && own !== asked) own.holder ??= place
    })
    this.#shelves = new Shelves(this.slots)
  }

  /** Counts a machine, and ends it where no queue could help it. */
  #slotOf(machine: Machine): Slot | undefined {
    const type = this.#types.get(machine.type)
    const { state, tenant, container, idleBehavior } = machine
    this.ledger.add(type, tenant, state)
    const busy = isBusy(machine)
    if (busy && container) {
      this.#claims.set(container.uuid, asked)
      this.#containers += 1
      if (container.supervisor) this.#supervisors += 1
    }
    const why = givenUp(machine, type !== undefined, this.#input)
    if (why) {
      this.ended.push([{ machine }, why])
      this.ledger.leave(type, tenant)
      return undefined
    }
    if (!type || busy || !usable.has(state) || idleBehavior !== 'run' || machine.broken) return undefined
    const slot: Slot = { machine, type, tenant, holder: undefined, user: undefined, leaves: false }
    if (container && !this.#claims.has(container.uuid)) this.#claims.set(container.uuid, slot)
    return slot
  }

  placeAll(): void {
    this.#order.forEach((at, place) => {
      const has = this.#own[at]
      if (has === asked) return
      const group = this.groups.at(at)
      if (group && !has) {
        this.#join(group, at)
        return
      }
      if (this.#placed.has(this.#input.queue[at]!.uuid)) return
      const own = has?.holder === place && !has.leaves ? has : undefined
      const slot = this.#place(at, own)
      if (own && own !== slot) this.#shelves.release(own)
    })
  }

  /** @returns the machine that it gets, unless that is to be created */
  #place(at: number, held: Slot | undefined): Slot | undefined {
    const container = this.#input.queue[at]!
    const { shape, uuid, tenant, priority } = container
    const fit = this.#fits.get(shape)
    const { maxDispatchAttempts, maxContainers = Number.POSITIVE_INFINITY } = this.#input.rules
    if (!fit) return this.#wait(at, 'nothing is known of what it needs')
    if ('none' in fit) return this.#fail(uuid, fit.none)
    if (container.attempts >= maxDispatchAttempts)
      return this.#fail(uuid, `No start in ${maxDispatchAttempts} attempts`)
    if (priority <= 0) return this.#wait(at, 'its priority is 0')
    if (this.#containers >= maxContainers) return this.#wait(at, `${maxContainers} containers run, more do not yet`)
    if (container.supervisor && this.#supervisors >= this.#mostSupervisors()) {
      return this.#wait(at, 'supervisors have their share of the machines')
    }
    const own = held && fit.types.includes(held.type) && this.#mayUse(held, tenant) ? held : undefined
    if (own && readinessOf(own.machine) === 'idle') return this.#take(own, container)
    const isVain = this.groups.at(at) !== undefined
    const idle = isVain ? undefined : this.#find(container, 'idle', fit.types)
    if (idle) return this.#take(idle, container)
    if (own) return this.#take(own, container)
    if (isVain) return this.#wait(at, '')
    const booting = this.#find(container, 'booting', fit.types)
    return booting ? this.#take(booting, container) : this.#createFor(at, fit.types)
  }

  #mostSupervisors(): number {
    const { supervisorFraction, maxInstances } = this.#input.rules
    // Of machines without a limit, no part is none.
    return Math.max(1, supervisorFraction === 0 ? 0 : Math.floor(supervisorFraction * maxInstances))
  }

  #mayUse = ({ type, tenant: of }: Slot, tenant: string) => of === tenant || this.ledger.mayMove(type, tenant)

  /** Whoever waits for room, and is more urgent, gets it by the end of a machine that would be used here. */
  #find({ tenant, priority }: Waiting, readiness: Readiness, types: readonly MachineType[]) {
    for (const type of types) {
      const by = { tenant, ofOthers: this.ledger.mayMove(type, tenant) }
      let slot = this.#shelves.find(type.name, readiness, by)
      while (slot && slot.machine.state !== 'creating' && this.ledger.owes(slot.type, slot.tenant, priority)) {
        slot.leaves = true
        this.ended.push([slot, 'room'])
        this.ledger.leave(slot.type, slot.tenant)
        slot = this.#shelves.find(type.name, readiness, by)
      }
      if (slot) return slot
    }
    return undefined
  }

  #take(slot: Slot, container: Waiting): Slot {
    const { tenant } = container
    if (slot.tenant !== tenant) this.ledger.move(slot.type, slot.tenant, tenant)
    slot.tenant = tenant
    slot.holder = undefined
    slot.user = container
    this.#placed.add(container.uuid)
    this.#containers += 1
    if (container.supervisor) this.#supervisors += 1
    return slot
  }

  #createFor(at: number, types: readonly MachineType[]): undefined {
    const { uuid, tenant, supervisor } = this.#input.queue[at]!
    const sentences = new Set<string>()
    let limit: string | undefined
    for (const type of types) {
      const refusal = this.ledger.refusal(type, tenant)
      if (!refusal) {
        this.ledger.create(type, tenant)
        this.create.push({ type: type.name, container: uuid, tenant })
        this.#placed.add(uuid)
        this.#containers += 1
        if (supervisor) this.#supervisors += 1
        return undefined
      }
      sentences.add(refusal.sentence)
      limit ??= refusal.limit
    }
    this.#wait(at, [...sentences].join('; '), limit)
  }

  #wait(at: number, sentence: string, limit?: string): undefined {
    const container = this.#input.queue[at]!
    const debt = limit === undefined ? undefined : this.ledger.debtAt(limit, container.priority)
    this.#join(this.groups.at(at) ?? this.groups.add(at, container, sentence, debt), at)
  }

  #join(group: Group, at: number): void {
    group.waiting += 1
    if (group.debt) owe(group.debt, this.#input.queue[at]!.priority)
  }

  #fail(container: string, why: string): undefined {
    this.fail.push({ container, why })
  }
}
