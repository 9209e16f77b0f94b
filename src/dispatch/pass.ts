/** The state of a pass, and the place of each container in it. Pure. */
import { givenUp } from './ends.ts'
import { type Fit, fitOf } from './fits.ts'
import { type Group, Groups } from './groups.ts'
import { Ledger, owe } from './ledger.ts'
import { inTurn } from './order.ts'
import { type Share, shareOf } from './room.ts'
import { Shelves } from './shelves.ts'
import {
  fitsFree,
  fitsLeft,
  hold,
  isUsed,
  newPlace,
  type Place,
  type Readiness,
  type Slot,
  slotOf,
  use,
} from './slots.ts'
import type { Decisions, Input, Machine, MachineType, ShutdownReason, Waiting } from './types.ts'

/** A machine was asked to run it. */
const asked = 'asked'
/** The share of a container whose shape nobody knows: it gets no machine. */
const unknown: Share = { places: 1, vcpus: 0, ramBytes: 0, scratchBytes: 0, gpus: 0 }
const usable: ReadonlySet<string> = new Set(['creating', 'booting', 'idle', 'running'])

export class Pass {
  readonly ledger: Ledger
  /** Machines that may be given away. */
  readonly slots: readonly Slot[]
  /** Machines to be created. */
  readonly created: Place[] = []
  readonly fail: Decisions['fail'][number][] = []
  readonly ended: [Pick<Slot, 'machine'>, ShutdownReason][] = []
  /** Who gets none. */
  readonly groups: Groups
  readonly #input: Input
  /** Places of the queue, in turn. */
  readonly #order: Uint32Array
  readonly #types: ReadonlyMap<string, MachineType>
  readonly #fits = new Map<string, Fit>()
  readonly #shares = new Map<string, Share>()
  readonly #shelves: Shelves
  /** Containers that have a machine by this pass. */
  readonly #placed = new Set<string>()
  readonly #claims = new Map<string, Slot | typeof asked>()
  /** The machine of each container in the queue. */
  readonly #own: readonly (Slot | typeof asked | undefined)[]
  #supervisors = 0
  /** Containers that have a machine which was asked, or get one. */
  #containers = 0

  constructor(input: Input) {
    this.#input = input
    this.#types = new Map(input.types.map(type => [type.name, type]))
    this.ledger = new Ledger(input)
    this.slots = input.machines.flatMap(machine => this.#slotOf(machine) ?? [])
    for (const [shape, need] of input.shapes) {
      this.#fits.set(shape, fitOf(need, input.types, input.rules))
      this.#shares.set(shape, shareOf(need, input.rules))
    }
    this.groups = new Groups(input.queue, input.rules.maxDispatchAttempts)
    this.#order = inTurn(input.queue)
    this.#own = input.queue.map(({ uuid }) => this.#claims.get(uuid))
    this.#order.forEach((at, place) => {
      const own = this.#own[at]
      const { uuid, shape } = input.queue[at]!
      if (own && own !== asked) hold(own, { uuid, place, share: this.#shares.get(shape) ?? unknown })
    })
    this.#shelves = new Shelves(this.slots)
  }

  /** Counts a machine, and ends it where no queue could help it. */
  #slotOf(machine: Machine): Slot | undefined {
    const type = this.#types.get(machine.type)
    const { state, tenant, containers, idleBehavior } = machine
    this.ledger.add(type, tenant, state)
    let busy = 0
    for (const { uuid, sent, supervisor } of containers) {
      if (!sent) continue
      busy += 1
      this.#claims.set(uuid, asked)
      this.#containers += 1
      if (supervisor) this.#supervisors += 1
    }
    const why = givenUp(machine, type !== undefined, this.#input)
    if (why) {
      this.ended.push([{ machine }, why])
      this.ledger.leave(type, tenant)
      return undefined
    }
    if (!type || !usable.has(state) || idleBehavior !== 'run' || machine.broken) return undefined
    const isFull = busy >= this.#input.rules.maxContainersPerMachine
    // Nobody knows what it runs.
    const isOdd = state === 'running' && busy === 0
    if (isFull || isOdd) return undefined
    const slot = slotOf(machine, type, this.#input.rules)
    for (const { uuid } of containers) if (!this.#claims.has(uuid)) this.#claims.set(uuid, slot)
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
      this.#place(at, has && this.#mayKeep(has, at, place) ? has : undefined)
      // From here on it has a machine as a user, if at all.
      if (has) this.#shelves.release(has, place)
    })
  }

  /** Whether it still has its own machine: those before it may have used up the room. */
  #mayKeep(own: Slot, at: number, place: number): boolean {
    const { shape, tenant } = this.#input.queue[at]!
    const isHolder = !own.leaves && own.holders.some(each => each.place === place)
    if (!isHolder || !fitsLeft(own, this.#shares.get(shape) ?? unknown)) return false
    return own.tenant === tenant || (!isUsed(own) && this.ledger.mayMove(own.type, tenant))
  }

  /** Gives it a machine, has one created for it, or says why it waits. */
  #place(at: number, held: Slot | undefined): undefined {
    const container = this.#input.queue[at]!
    const { shape, uuid, priority } = container
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
    const own = held && fit.types.includes(held.type) ? held : undefined
    if (own?.readiness === 'idle') return this.#take(own, container)
    const isVain = this.groups.at(at) !== undefined
    const idle = isVain ? undefined : this.#find(container, 'idle', fit.types)
    if (idle) return this.#take(idle, container)
    if (own) return this.#take(own, container)
    if (isVain) return this.#wait(at, '')
    const other = this.#find(container, 'booting', fit.types) ?? this.#find(container, 'new', fit.types)
    return other ? this.#take(other, container) : this.#createFor(at, fit.types)
  }

  #mostSupervisors(): number {
    const { supervisorFraction, maxInstances } = this.#input.rules
    // A fraction of 0 stays 0 where machines have no limit.
    return Math.max(1, supervisorFraction === 0 ? 0 : Math.floor(supervisorFraction * maxInstances))
  }

  /**
   * A machine that others have too, else one for itself alone. If a more urgent container waits for room, a machine that would be
   * used here is ended for it, and nobody joins the machines of which it waits for one to be empty.
   */
  #find(container: Waiting, readiness: Readiness, types: readonly MachineType[]): Place | undefined {
    const { tenant, priority } = container
    const joined = this.#beside(container, readiness, types, fitsFree)
    if (joined || readiness === 'new') return joined
    for (const type of types) {
      const ofOthers = this.ledger.mayMove(type, tenant)
      // All that hold a part of it still come later.
      const next = () =>
        this.#shelves.free(type.name, readiness, tenant, ofOthers) ??
        this.#beside(container, readiness, [type], (slot, share) => isUsed(slot) && fitsLeft(slot, share)) ??
        this.#shelves.held(type.name, readiness, tenant, ofOthers)
      let slot = next()
      while (slot && this.#isWanted(slot, priority)) {
        this.#end(slot as Slot)
        slot = next()
      }
      if (slot) return slot
    }
    return undefined
  }

  /** A machine that others have, unless a more urgent container waits for it to be empty. */
  #beside(
    { shape, tenant, priority }: Waiting,
    readiness: Readiness,
    types: readonly MachineType[],
    fits: (slot: Place, share: Share) => boolean,
  ): Place | undefined {
    const { shared } = this.#shelves
    if (shared.isEmpty) return undefined
    const share = this.#shares.get(shape)!
    for (const type of types) {
      const slot = shared.find({ type: type.name, readiness, tenant, share }, fits)
      if (slot && !this.ledger.isAwaited(type, tenant, priority)) return slot
    }
    return undefined
  }

  /** Whether its end makes room for somebody above this priority. */
  #isWanted(slot: Place, priority: number): boolean {
    if (isUsed(slot) || (slot as Slot).machine.state === 'creating') return false
    return this.ledger.owes(slot.type, slot.tenant, priority)
  }

  #end(slot: Slot): void {
    slot.leaves = true
    this.ended.push([slot, 'room'])
    this.ledger.leave(slot.type, slot.tenant)
  }

  #take(slot: Place, container: Waiting): undefined {
    const { uuid, shape, tenant, supervisor } = container
    if (slot.tenant !== tenant) this.ledger.move(slot.type, slot.tenant, tenant)
    use(slot, container, this.#shares.get(shape)!)
    this.#shelves.shared.put(slot)
    this.#placed.add(uuid)
    this.#containers += 1
    if (supervisor) this.#supervisors += 1
  }

  #createFor(at: number, types: readonly MachineType[]): undefined {
    const container = this.#input.queue[at]!
    const { tenant } = container
    const sentences = new Set<string>()
    let limit: string | undefined
    for (const type of types) {
      const refusal = this.ledger.refusal(type, tenant)
      if (!refusal) {
        this.ledger.create(type, tenant)
        const place = newPlace(type, tenant, this.#input.rules)
        this.created.push(place)
        return this.#take(place, container)
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
