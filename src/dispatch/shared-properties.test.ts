/** Properties of a pass over machines that several containers may share. */
import { expect, test } from 'vitest'
import { allOf, byId, holds, typesOf } from './testing/after.ts'
import type { Need } from './types.ts'

test('decide gives no machine more than it has room for, nor more containers than may share one', () => {
  holds((input, decisions) => {
    const { rules, shapes } = input
    const types = typesOf(input)
    const needs = new Map([
      ...input.machines.flatMap(({ containers }) => containers.map(({ uuid, need }) => [uuid, need] as const)),
      ...input.queue.map(({ uuid, shape }) => [uuid, shapes.get(shape)!] as const),
    ])
    const fills = (type: string, uuids: readonly string[]) => {
      const { vcpus, ramBytes, scratchBytes, gpus } = types.get(type)!
      const sum = (of: (need: Need) => number) => uuids.reduce((all, uuid) => all + of(needs.get(uuid)!), 0)
      return (
        uuids.length <= rules.maxContainersPerMachine &&
        sum(need => need.vcpus) <= vcpus &&
        sum(need => (need.ramBytes + rules.reserveExtraRamBytes) / 0.95) <= ramBytes &&
        sum(need => need.scratchBytes) <= scratchBytes &&
        sum(need => need.gpus) <= gpus
      )
    }
    const gets = new Set(decisions.assign.map(({ machine }) => machine))
    for (const [machine, all] of Map.groupBy(allOf(input, decisions), ({ machine }) => machine)) {
      const { type } = input.machines.find(({ id }) => id === machine)!
      // Containers that were sent before may take more.
      if (gets.has(machine))
        expect(
          fills(
            type,
            all.map(({ uuid }) => uuid),
          ),
        ).toBe(true)
    }
    for (const { type, containers } of decisions.create) {
      expect(containers.length).toBeGreaterThan(0)
      expect(fills(type, containers)).toBe(true)
    }
  })
})

test('decide puts containers of two tenants on no machine', () => {
  holds((input, decisions) => {
    const tenants = new Map(input.queue.map(({ uuid, tenant }) => [uuid, tenant]))
    const machines = byId(input)
    const gets = new Set(decisions.assign.map(({ machine }) => machine))
    for (const [machine, all] of Map.groupBy(allOf(input, decisions), each => each.machine)) {
      const { containers, tenant } = machines.get(machine)!
      const isBusy = containers.some(({ sent }) => sent)
      const of = all.map(({ uuid }) => tenants.get(uuid) ?? tenant)
      if (gets.has(machine)) expect(new Set(isBusy ? [tenant, ...of] : of).size).toBe(1)
    }
    for (const { containers, tenant } of decisions.create)
      for (const uuid of containers) expect(tenants.get(uuid)).toBe(tenant)
  })
})
