import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decide } from '../dispatch/decide.ts'
import { byTurn } from '../dispatch/order.ts'
import { anyInput, anyPacked } from '../dispatch/testing/arbitrary.ts'
import type { Decisions, Input } from '../dispatch/types.ts'
import { type HeadOf, groupKey as keyOf, withoutDoubtful } from './heads.ts'

const anyOf = fc.oneof(anyInput, anyPacked)

/** The input of a pass that reads so many of each group, and those that machines have. */
function seen(input: Input, limit: number): { input: Input; heads: HeadOf[] } {
  const groups = Map.groupBy(input.queue.filter(({ priority }) => priority > 0).toSorted(byTurn), keyOf)
  const own = new Set(input.machines.flatMap(({ containers }) => containers.map(({ uuid }) => uuid)))
  const queue = [...groups.values()].flatMap(all => {
    const free = all.filter(({ uuid }) => !own.has(uuid))
    return [...free.slice(0, limit), ...all.filter(({ uuid }) => own.has(uuid))]
  })
  const heads = [...groups.values()].flatMap(all => {
    const free = all.filter(({ uuid }) => !own.has(uuid))
    const last = free[limit - 1]
    return last && free.length > limit ? [{ ...last, lastPriority: last.priority }] : []
  })
  return { input: { ...input, queue }, heads }
}

const trimmed = (input: Input, limit: number) => {
  const part = seen(input, limit)
  const priorities = new Map(input.queue.map(({ uuid, priority }) => [uuid, priority]))
  return withoutDoubtful(decide(part.input), part.heads, uuid => priorities.get(uuid))
}

describe('withoutDoubtful', () => {
  it('changes nothing when a pass saw every container', () => {
    fc.assert(
      fc.property(anyOf, input => {
        const part = seen(input, 1000)
        const decisions = decide(part.input)
        expect(withoutDoubtful(decisions, part.heads, () => 0)).toEqual({ decisions, again: false })
      }),
    )
  })

  it('lets nobody pass a container that was not seen, when that is more urgent', () => {
    fc.assert(
      fc.property(anyOf, input => {
        const { decisions, again } = trimmed(input, 1)
        if (!again) return
        const part = seen(input, 1)
        const waits = new Set(decisions.statuses.map(keyOf))
        const cut = Math.max(...part.heads.filter(each => !waits.has(keyOf(each))).map(each => each.lastPriority))
        const priorities = new Map(input.queue.map(({ uuid, priority }) => [uuid, priority]))
        const assigned = decisions.assign.map(({ container }) => container)
        for (const container of [...assigned, ...decisions.create.flatMap(({ containers }) => containers)]) {
          expect(priorities.get(container)).toBeGreaterThanOrEqual(cut)
        }
        expect(decisions.shutdown.filter(({ why }) => why === 'idle' || why === 'room')).toEqual([])
      }),
    )
  })

  it('leaves decisions that hold together: no container on a machine beside one that is to leave it', () => {
    fc.assert(
      fc.property(anyOf, input => {
        const { decisions } = trimmed(input, 1)
        const all = decide(seen(input, 1).input)
        const gets = new Set(decisions.assign.map(({ machine }) => machine))
        expect(decisions.unassign).toEqual(
          expect.arrayContaining(all.unassign.filter(({ machine }) => gets.has(machine))),
        )
      }),
    )
  })

  it('decides something whenever another pass follows', () => {
    const count = ({ assign, create, fail, unassign }: Decisions) => [assign, create, fail, unassign].flat().length
    fc.assert(
      fc.property(anyOf, input => {
        const { decisions, again } = trimmed(input, 1)
        const own = new Set(input.machines.flatMap(({ containers }) => containers.map(({ uuid }) => uuid)))
        // A head that keeps its own machine waits for nothing, and nothing is decided about it.
        if (again && seen(input, 1).input.queue.every(({ uuid }) => !own.has(uuid))) {
          expect(count(decisions)).toBeGreaterThan(0)
        }
      }),
    )
  })
})
