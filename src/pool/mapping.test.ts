import { describe, expect, it } from 'vitest'
import { decide } from '../dispatch/decide.ts'
import { someTypes } from '../dispatch/testing/arbitrary.ts'
import { needOf, someRules } from '../dispatch/testing/world.ts'
import type { Decisions } from '../dispatch/types.ts'
import { headsOf, inputOf, opOf, shapeOf, statusesOf, writesOf } from './mapping.ts'
import { briefOf, groupOf, nowMs, readingOf, uuidOf, waits } from './testing/reading.ts'

const rules = { types: someTypes, rules: someRules }
const nothing: Decisions = {
  ...{ unassign: [], assign: [], create: [], shutdown: [], fail: [], statuses: [], dueMs: undefined },
}

describe('inputOf', () => {
  it('has heads and assigned containers once each, with the need of their group', () => {
    const head = [waits(5), waits(6)]
    const group = groupOf(head, { id: 'big', need: needOf(2), tenant: 't', supervisor: true, count: 9 })
    const reading = readingOf({ groups: [group], assigned: [waits(6, { group: 'big' }), waits(7, { group: 'big' })] })
    const { queue, shapes } = inputOf(reading, rules, 10)
    expect(queue.map(({ uuid }) => opOf(uuid))).toEqual([5, 6, 7])
    expect(queue[2]).toMatchObject({ shape: shapeOf(needOf(2)), tenant: 't', supervisor: true, priority: 1 })
    expect([...shapes.values()]).toEqual([needOf(2)])
  })

  it('counts a machine with a reason to end as one that shuts down', () => {
    const machines = [briefOf('a', { ending: 'idle' }), briefOf('b', { broken: 'it says so' })]
    const input = inputOf(readingOf({ machines }), rules, 10)
    expect(input.machines).toMatchObject([
      { id: 'a', state: 'shutdown' },
      { id: 'b', state: 'idle', broken: true },
    ])
  })

  it('has a container as sent once a run was drawn for it', () => {
    const container = (run: number) => ({ uuid: uuidOf(5), run, supervisor: true })
    const machines = [briefOf('a', { container: container(0) }), briefOf('b', { container: container(8) })]
    const sent = inputOf(readingOf({ machines }), rules, 10).machines.map(each => each.container?.sent)
    expect(sent).toEqual([false, true])
  })

  it('touches nothing up to the held op when Redis was lost', () => {
    const container = { uuid: uuidOf(5), run: 0, supervisor: false }
    const reading = readingOf({
      ...{ groups: [groupOf([waits(5), waits(6)])], assigned: [waits(4)], heldOp: 5 },
      machines: [briefOf('a', { container })],
    })
    const input = inputOf(reading, rules, 10)
    expect(input.queue.map(({ uuid }) => opOf(uuid))).toEqual([6])
    expect(decide(input)).toMatchObject({ unassign: [], assign: [] })
    expect(statusesOf(reading, nothing, 'held').get('g')).toBe('held')
  })
})

describe('headsOf', () => {
  it('tells how much of each group the pass saw, but not of those on hold', () => {
    const groups = [groupOf([waits(9, { priority: 7 })], { count: 3 }), groupOf([waits(2)], { id: 'old' })]
    expect(headsOf(readingOf({ groups, heldOp: 5 }))).toEqual([
      { shape: shapeOf(needOf(1)), tenant: 'default', supervisor: false, count: 3, seen: 1, lastPriority: 7 },
    ])
  })
})

describe('writesOf', () => {
  it('takes back before it assigns, and counts each write in the versions that follow', () => {
    const reading = readingOf({
      groups: [groupOf([waits(1, { version: 4 }), waits(2, { version: 6 })])],
      machines: [briefOf('m', { version: 9 }), briefOf('n', { version: 3 })],
    })
    const [one, two] = [uuidOf(1), uuidOf(2)]
    const decisions = {
      ...nothing,
      unassign: [{ container: one, machine: 'm' }],
      assign: [
        { container: two, machine: 'm' },
        { container: one, machine: 'n' },
      ],
      shutdown: [{ machine: 'n', why: 'idle' as const }],
    }
    expect(writesOf(decisions, reading)).toEqual([
      { kind: 'unassign', container: one, containerVersion: 4, machine: 'm', machineVersion: 9 },
      { kind: 'assign', container: two, containerVersion: 6, machine: 'm', machineVersion: 10 },
      { kind: 'assign', container: one, containerVersion: 5, machine: 'n', machineVersion: 3 },
      { kind: 'shutdown', machine: 'n', machineVersion: 4, why: 'idle' },
    ])
  })

  it('names no version that exists of what was not read', () => {
    const decisions = { ...nothing, fail: [{ container: uuidOf(1), why: 'no type' }] }
    expect(writesOf(decisions, readingOf())).toMatchObject([{ kind: 'fail', containerVersion: -1 }])
  })
})

describe('statusesOf', () => {
  it('has the sentence of each group by its id, supervisors apart', () => {
    const groups = [groupOf([waits(1)]), groupOf([waits(2)], { id: 's', supervisor: true })]
    const status = { shape: shapeOf(needOf(1)), tenant: 'default', waiting: 1 }
    const statuses = [
      { ...status, supervisor: false, sentence: 'It waits: a' },
      { ...status, supervisor: true, sentence: 'It waits: b' },
    ]
    const sentences = statusesOf(readingOf({ groups, nowMs }), { ...nothing, statuses }, 'held')
    expect([...sentences]).toEqual([
      ['g', 'It waits: a'],
      ['s', 'It waits: b'],
    ])
  })
})
