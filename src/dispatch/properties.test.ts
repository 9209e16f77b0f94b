/** Properties of a pass over any queue and machines at all. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide } from './decide.ts'
import { fitOf } from './fits.ts'
import { byTurn, inTurn } from './order.ts'
import { isBusy } from './slots.ts'
import { askedOf, byId, holds, typesOf, unsentAfter } from './testing/after.ts'
import { nowMs } from './testing/arbitrary.ts'
import { waitingOf } from './testing/world.ts'
import type { Decisions, Input, Machine, MachineType } from './types.ts'

const numRuns = 500
const unique = (all: readonly string[]) => expect(all.length).toBe(new Set(all).size)

const fitting = (input: Input, shape: string): readonly MachineType[] => {
  const fit = fitOf(input.shapes.get(shape)!, input.types, input.rules)
  return 'none' in fit ? [] : fit.types
}
const mayServe = ({ state, idleBehavior, broken }: Machine) =>
  ['creating', 'booting', 'idle', 'running'].includes(state) && idleBehavior === 'run' && !broken

test('decide gives no container two machines', () => {
  holds((input, decisions) => {
    const asked = askedOf(input)
    const given = [
      ...unsentAfter(input, decisions).map(({ uuid }) => uuid),
      ...decisions.create.flatMap(({ containers }) => containers),
    ]
    unique(given)
    expect(given.filter(uuid => asked.includes(uuid))).toEqual([])
  })
})

test('decide gives only machines that may serve, stay, and fit', () => {
  holds((input, decisions) => {
    const machines = byId(input)
    const ends = decisions.shutdown.map(({ machine }) => machine)
    for (const { machine: id, uuid } of unsentAfter(input, decisions)) {
      const machine = machines.get(id)!
      const { shape, priority, attempts } = input.queue.find(each => each.uuid === uuid)!
      expect(!mayServe(machine) || ends.includes(id)).toBe(false)
      expect(fitting(input, shape).map(({ name }) => name)).toContain(machine.type)
      expect(priority > 0 && attempts < input.rules.maxDispatchAttempts).toBe(true)
    }
  })
})

test('decide takes nothing back that a machine was asked to run', () => {
  holds((input, { unassign }) => {
    const machines = byId(input)
    for (const { machine, container } of unassign) {
      const its = machines.get(machine)!.containers.find(({ uuid }) => uuid === container)
      expect(its).toMatchObject({ sent: false })
    }
  })
})

test('decide shuts no machine on hold down, none twice, and a busy one only when it answers nobody', () => {
  holds((input, { shutdown }) => {
    const machines = byId(input)
    unique(shutdown.map(({ machine }) => machine))
    for (const { machine, why } of shutdown) {
      const { idleBehavior, state } = machines.get(machine)!
      expect([idleBehavior === 'hold', state]).not.toContainEqual('shutdown')
      expect(idleBehavior).not.toBe('hold')
      if (isBusy(machines.get(machine)!)) expect(['unreachable', 'boot']).toContain(why)
    }
  })
})

test('decide leaves no machine idle beyond its time, nor one that boots beyond its time', () => {
  holds((input, decisions) => {
    const used = new Set(unsentAfter(input, decisions).map(({ machine }) => machine))
    const ends = new Set(decisions.shutdown.map(({ machine }) => machine))
    for (const { id, state, sinceMs, idleBehavior, containers } of input.machines) {
      if (idleBehavior === 'hold' || used.has(id)) continue
      const isUnused = state === 'idle' && !containers.some(({ sent }) => sent)
      if (isUnused && sinceMs + input.rules.timeoutIdleMs <= nowMs) expect(ends).toContain(id)
      if (state === 'booting' && sinceMs + input.rules.timeoutBootingMs <= nowMs) expect(ends).toContain(id)
    }
  })
})

test('decide creates no machine above any limit', () => {
  holds((input, { create }) => {
    const { rules, throttle, machines } = input
    const types = typesOf(input)
    if (throttle.createAfterMs > nowMs) expect(create).toEqual([])
    const creating = machines.filter(({ state }) => state === 'creating').length
    if (create.length === 0) return
    expect(machines.length + create.length).toBeLessThanOrEqual(rules.maxInstances)
    expect(creating + create.length).toBeLessThanOrEqual(rules.maxConcurrentInstanceCreateOps)
    for (const { type } of create) {
      const { group } = types.get(type)!
      const count = [...machines, ...create].filter(each => types.get(each.type)?.group === group).length
      const quota = throttle.quotas.get(group)
      if (quota && !(quota.untilMs <= nowMs && !machines.some(each => types.get(each.type)?.group === group))) {
        expect(count).toBeLessThanOrEqual(quota.count)
      }
      expect(throttle.capacity.get(type)?.untilMs ?? 0).toBeLessThanOrEqual(nowMs)
    }
  })
})

test('decide brings no tenant above its limits', () => {
  holds((input, { create, assign }) => {
    const types = typesOf(input)
    const tenants = new Map(input.queue.map(({ uuid, tenant }) => [uuid, tenant]))
    const moved = new Map(assign.map(({ machine, container }) => [machine, tenants.get(container)!]))
    const usage = (tenant: string, all: readonly { type: string; tenant: string }[]) => {
      const its = all.filter(each => each.tenant === tenant)
      return { count: its.length, price: its.reduce((sum, { type }) => sum + (types.get(type)?.price ?? 0), 0) }
    }
    const after = [...input.machines.map(each => ({ ...each, tenant: moved.get(each.id) ?? each.tenant })), ...create]
    for (const [tenant, { maxInstances = Infinity, maxPricePerHour = Infinity }] of input.rules.tenants) {
      const [was, is] = [usage(tenant, input.machines), usage(tenant, after)]
      expect(is.count).toBeLessThanOrEqual(Math.max(was.count, maxInstances))
      expect(is.price).toBeLessThanOrEqual(Math.max(was.price, maxPricePerHour) + 1e-9)
    }
  })
})

test('decide lets nobody pass another of the same shape and tenant', () => {
  holds((input, decisions) => {
    const machines = byId(input)
    const asked = new Set(askedOf(input))
    const place = new Map(
      unsentAfter(input, decisions).map(({ machine, uuid }) => [uuid, machines.get(machine)!.state]),
    )
    for (const uuid of decisions.create.flatMap(({ containers }) => containers)) place.set(uuid, 'creating')
    const isReady = (uuid: string) => ['idle', 'running'].includes(place.get(uuid)!)
    const rank = (uuid: string) => (place.has(uuid) ? (isReady(uuid) ? 2 : 1) : 0)
    const failed = new Set(decisions.fail.map(({ container }) => container))
    const order = input.queue.toSorted(byTurn).filter(({ uuid }) => !failed.has(uuid) && !asked.has(uuid))
    order.forEach((first, at) => {
      for (const later of order.slice(at + 1)) {
        const alike = first.shape === later.shape && first.tenant === later.tenant
        if (alike && first.supervisor === later.supervisor && first.priority > 0) {
          expect(rank(first.uuid), `${first.uuid} before ${later.uuid}`).toBeGreaterThanOrEqual(rank(later.uuid))
        }
      }
    })
  })
})

test('decide creates no machine for a container that an unused one of its tenant fits', () => {
  holds((input, decisions) => {
    const used = new Set(unsentAfter(input, decisions).map(({ machine }) => machine))
    const ends = new Set(decisions.shutdown.map(({ machine }) => machine))
    for (const { containers, tenant } of decisions.create) {
      const { shape } = input.queue.find(({ uuid }) => uuid === containers[0])!
      const names = fitting(input, shape).map(({ name }) => name)
      const unused = input.machines.filter(machine => {
        const isFree = !isBusy(machine) && mayServe(machine) && !used.has(machine.id) && !ends.has(machine.id)
        return isFree && machine.tenant === tenant && names.includes(machine.type)
      })
      expect(unused).toEqual([])
    }
  })
})

test('decide says something of every container: it has a machine, waits, or fails', () => {
  holds((input, decisions) => {
    const asked = new Set(askedOf(input))
    const created = decisions.create.flatMap(({ containers }) => containers)
    const placed = unsentAfter(input, decisions).length + created.length + decisions.fail.length
    const waiting = decisions.statuses.reduce((sum, each) => sum + each.waiting, 0)
    expect(placed + waiting).toBe(input.queue.filter(({ uuid }) => !asked.has(uuid)).length)
    expect(decisions.statuses.filter(({ sentence }) => sentence.endsWith(': '))).toEqual([])
  })
})

test('decide is a function of its input, whatever the order of the queue, and changes none of it', () => {
  holds((input, decisions) => {
    const before = structuredClone(input)
    expect(decide(input)).toEqual(decisions)
    expect(input).toEqual(before)
    expect(decide({ ...input, queue: input.queue.toReversed() })).toEqual(decisions)
  })
})

test('decide says when time alone may change it, and decides nothing else before', () => {
  const noStatuses = ({ statuses: _, ...decisions }: Decisions) => decisions
  holds((input, decisions) => {
    const { dueMs } = decisions
    if (dueMs === undefined) return
    expect(dueMs).toBeGreaterThan(nowMs)
    expect(noStatuses(decide({ ...input, nowMs: dueMs - 1 }))).toEqual(noStatuses(decisions))
  })
})

test('inTurn orders by priority, then age, then uuid, whatever the numbers are', () => {
  const time = fc.oneof(fc.nat(3), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  const priority = fc.oneof(fc.nat(3), fc.double({ noNaN: true, noDefaultInfinity: true }))
  const anyQueue = fc.array(fc.record({ priority, queuedMs: time, uuid: fc.constantFrom('a', 'b', 'c') }))
  fc.assert(
    fc.property(anyQueue, all => {
      const queue = all.map(over => waitingOf(over.uuid, 'one', over))
      expect(Array.from(inTurn(queue), at => queue[at])).toEqual(queue.toSorted(byTurn))
    }),
    { numRuns },
  )
})
