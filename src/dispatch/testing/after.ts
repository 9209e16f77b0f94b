/** The queue and machines after the decisions of a pass, for properties of it. Pure. */
import fc from 'fast-check'
import { decide } from '../decide.ts'
import type { Decisions, Input } from '../types.ts'
import { anyInput, anyPacked } from './arbitrary.ts'

/** Checks inputs where machines have one container, and inputs where they may have more. */
export function holds(property: (input: Input, decisions: Decisions) => void): void {
  fc.assert(
    fc.property(fc.oneof(anyInput, anyPacked), input => property(input, decide(input))),
    { numRuns: 1_000 },
  )
}

export const byId = ({ machines }: Input) => new Map(machines.map(machine => [machine.id, machine]))
export const typesOf = ({ types }: Input) => new Map(types.map(type => [type.name, type]))

export interface Has {
  readonly machine: string
  readonly uuid: string
}

/** The containers that machines have after the decisions, without those that a machine was asked to run. */
export function unsentAfter({ machines }: Input, { assign, unassign, shutdown }: Decisions): Has[] {
  const ends = new Set(shutdown.map(({ machine }) => machine))
  const textOf = ({ machine, uuid }: Has) => `${machine} ${uuid}`
  const all = new Map<string, Has>()
  for (const { id, containers } of machines) {
    for (const { uuid, sent } of ends.has(id) ? [] : containers)
      if (!sent) all.set(textOf({ machine: id, uuid }), { machine: id, uuid })
  }
  for (const { machine, container: uuid } of unassign) all.delete(textOf({ machine, uuid }))
  for (const { machine, container: uuid } of assign) all.set(textOf({ machine, uuid }), { machine, uuid })
  return [...all.values()]
}

export const askedOf = ({ machines }: Input) =>
  machines.flatMap(({ containers }) => containers.filter(({ sent }) => sent).map(({ uuid }) => uuid))

/** All that a machine has or gets: what it was asked to run, and the rest. */
export const allOf = (input: Input, decisions: Decisions): Has[] => [
  ...input.machines.flatMap(({ id, containers }) =>
    containers.filter(({ sent }) => sent).map(({ uuid }) => ({ machine: id, uuid })),
  ),
  ...unsentAfter(input, decisions),
]
