/** The decisions of a pass about machines that several containers may share, case by case. */
import { describe, expect, test } from 'vitest'
import { decidedBy, fresh, sent, unsent } from './testing/cases.ts'
import { gib, needOf, someRules, typeOf, waitingOf } from './testing/world.ts'
import { calm } from './throttle.ts'
import type { Machine } from './types.ts'

const rules = { ...someRules, maxContainersPerMachine: 3, maximumPriceFactor: 10 }
const given = decidedBy(rules)

describe('decide with machines that several containers may share', () => {
  const ones = (...uuids: string[]) => uuids.map((uuid, i) => waitingOf(uuid, 'one', { queuedMs: i }))
  const large = (id: string, ...containers: Machine['containers']) =>
    fresh(id, 'large', { containers, ...(containers.some(each => each.sent) && { state: 'running' }) })

  test('fills the machine that has the least left, so that others become empty', () => {
    const machines = [large('1', sent('x')), large('2', sent('y'), sent('z')), large('3')]
    expect(given({ queue: ones('a', 'b'), machines }).assign).toEqual([
      { container: 'b', machine: '1' },
      { container: 'a', machine: '2' },
    ])
  })

  test('lets no more share one than are allowed, whatever is left of it', () => {
    const machines = [large('1', sent('x'), sent('y'))]
    const { assign, create } = given({ queue: ones('a', 'b'), machines })
    expect([assign, create]).toMatchObject([[{ container: 'a', machine: '1' }], [{ containers: ['b'] }]])
    expect(given({ queue: ones('a'), machines, rules: someRules }).assign).toEqual([])
  })

  test.each([
    ['processors', { vcpus: 3 }],
    ['memory, of which some is kept beside each', { ramBytes: 8 * gib + 200 * 1024 ** 2 }],
    ['scratch space', { scratchBytes: 198 * gib + 1 }],
    ['GPUs', { gpus: 1 }],
  ])('counts %s', (_, over) => {
    const [x, y] = [sent('x'), { ...sent('y'), need: needOf(1, { gpus: 1 }) }]
    const of = (...its: Machine['containers']) => ({
      ...{ types: [typeOf('large', 4, 4, { gpus: 1 })], shapes: new Map([['odd', needOf(1, over)]]) },
      ...{ queue: [waitingOf('a', 'odd')], machines: [large('1', ...its)] },
    })
    expect(given(of(x, y)).assign).toEqual([])
    expect(given(of(x)).assign).toHaveLength(1)
  })

  test('creates one machine for all that fit it', () => {
    const types = [typeOf('large', 4, 4)]
    const { create } = given({ queue: ones('a', 'b', 'c', 'd'), types })
    expect(create).toEqual([
      { type: 'large', tenant: 'default', containers: ['a', 'b', 'c'] },
      { type: 'large', tenant: 'default', containers: ['d'] },
    ])
  })

  test('joins a machine that boots before it creates one', () => {
    const machines = [fresh('1', 'large', { state: 'booting', containers: [unsent('a')] })]
    const { assign, create, unassign } = given({ queue: ones('a', 'b'), machines })
    expect({ assign, create, unassign }).toEqual({
      assign: [{ container: 'b', machine: '1' }],
      create: [],
      unassign: [],
    })
  })

  test('counts one that keeps its place once', () => {
    const booting = (id: string, ...containers: Machine['containers']) =>
      fresh(id, 'large', { state: 'booting', containers })
    const { assign } = given({ queue: ones('a', 'b', 'c'), machines: [booting('1', unsent('a')), booting('2')] })
    expect(assign.map(({ machine }) => machine)).toEqual(['1', '1'])
  })

  test('puts no two tenants on a machine', () => {
    const queue = [waitingOf('a', 'one', { tenant: 't' })]
    expect(given({ queue, machines: [large('1', sent('x'))] })).toMatchObject({ assign: [], create: [{ tenant: 't' }] })
  })

  test('gives the place of one that comes later to one that finds no other', () => {
    const machines = [fresh('1', 'large', { state: 'booting', containers: [unsent('b'), unsent('c'), unsent('d')] })]
    const full = { ...rules, maxInstances: 1 }
    const { assign, unassign } = given({ queue: ones('a', 'b', 'c', 'd'), machines, rules: full })
    expect({ assign, unassign }).toEqual({
      assign: [{ container: 'a', machine: '1' }],
      unassign: [{ container: 'd', machine: '1' }],
    })
  })

  test('gives the place of one that comes later beside what runs', () => {
    const machines = [large('1', sent('x'), unsent('b'), unsent('c'))]
    const { assign, unassign } = given({ queue: ones('a', 'b', 'c'), machines, rules: { ...rules, maxInstances: 1 } })
    expect({ assign, unassign }).toEqual({
      assign: [{ container: 'a', machine: '1' }],
      unassign: [{ container: 'c', machine: '1' }],
    })
  })

  test('takes a machine that boots from all of a tenant for one of another', () => {
    const full = { ...rules, maxInstances: 1 }
    const queue = [waitingOf('a', 'one', { tenant: 't' }), ...ones('b', 'c')]
    const machines = [fresh('1', 'large', { state: 'booting', containers: [unsent('b')] })]
    const { assign, unassign } = given({ queue, machines, rules: full })
    expect({ assign, unassign }).toEqual({
      assign: [{ container: 'a', machine: '1' }],
      unassign: [{ container: 'b', machine: '1' }],
    })
  })

  test('gives a place to the next when its container fails', () => {
    const queue = [waitingOf('tried', 'one', { attempts: 10, queuedMs: -1 }), ...ones('a', 'b')]
    const two = { ...rules, maxContainersPerMachine: 2 }
    const machines = [fresh('1', 'large', { state: 'booting', containers: [unsent('tried'), unsent('b')] })]
    const { assign, unassign, create } = given({ queue, machines, rules: two })
    expect({ assign, unassign, create }).toEqual({
      ...{ assign: [{ container: 'a', machine: '1' }], create: [] },
      unassign: [{ container: 'tried', machine: '1' }],
    })
  })

  test('counts a container once that the queue has twice', () => {
    const queue = [...ones('a'), ...ones('a', 'b', 'c')]
    const machines = [fresh('1', 'large', { state: 'booting', containers: [unsent('c')] })]
    const { assign, create, unassign } = given({ queue: queue.map(each => ({ ...each })), machines })
    expect([assign.length, create, unassign]).toEqual([2, [], []])
  })

  test('ends no machine that has one container left, and takes none for it back', () => {
    const one = fresh('1', 'large', { state: 'running', sinceMs: 0, containers: [sent('x')] })
    expect(given({ machines: [one], throttle: { ...calm, hurry: true } }).shutdown).toEqual([])
  })

  test('takes back what waits on a machine that is drained, and leaves what runs there', () => {
    const one = large('1', sent('x'), unsent('a'))
    const { unassign, shutdown } = given({ queue: ones('a'), machines: [{ ...one, idleBehavior: 'drain' }] })
    expect({ unassign, shutdown }).toEqual({ unassign: [{ container: 'a', machine: '1' }], shutdown: [] })
  })

  test('lets nobody join a machine of which somebody more urgent waits for one', () => {
    const full = { ...rules, maxInstances: 1 }
    const urgent = waitingOf('urgent', 'four', { priority: 2 })
    const machines = [large('1', sent('x'))]
    expect(given({ queue: [...ones('a'), urgent], machines, rules: full }).assign).toEqual([])
    const alike = { ...urgent, priority: 1, queuedMs: -1 }
    expect(given({ queue: [...ones('a'), alike], machines, rules: full }).assign).toHaveLength(1)
  })
})
