/** The decisions of a pass, case by case. */
import { describe, expect, test } from 'vitest'
import { decidedBy, fresh, now, sent, unsent } from './testing/cases.ts'
import { someRules, waitingOf } from './testing/world.ts'
import { calm } from './throttle.ts'
import type { Input } from './types.ts'

const decided = decidedBy(someRules)

describe('decide takes', () => {
  const queue = [waitingOf('c', 'one')]

  test('an idle machine before one that boots, and that before a new one', () => {
    const [booting, idle] = [fresh('b', 'small', { state: 'booting' }), fresh('i', 'medium')]
    expect(decided({ queue, machines: [booting, idle] }).assign).toEqual([{ container: 'c', machine: 'i' }])
    expect(decided({ queue, machines: [booting] }).assign).toEqual([{ container: 'c', machine: 'b' }])
    expect(decided({ queue }).create).toEqual([{ type: 'small', containers: ['c'], tenant: 'default' }])
  })

  test('of idle machines the cheapest, then the one that was busy last', () => {
    const machines = [fresh('m', 'medium'), fresh('old', 'small', { sinceMs: now - 9 }), fresh('new', 'small')]
    expect(decided({ queue, machines }).assign).toEqual([{ container: 'c', machine: 'new' }])
  })

  test('a dearer type while the cloud has none of the cheapest', () => {
    const capacity = new Map([['small', { untilMs: now + 5, failures: 1 }]])
    const decisions = decided({ queue, throttle: { ...calm, capacity } })
    expect(decisions).toMatchObject({ create: [{ type: 'medium' }], dueMs: now + 5 })
  })

  test('one machine for a container that the queue has twice', () => {
    const twice = [waitingOf('c', 'one'), waitingOf('c', 'one', { priority: 2 })]
    expect(decided({ queue: twice }).create).toHaveLength(1)
    expect(decided({ queue: twice, machines: [fresh('1', 'small'), fresh('2', 'small')] }).assign).toHaveLength(1)
  })

  test('nothing back from a machine that keeps what it was given', () => {
    const machines = [fresh('i', 'small', { containers: [unsent('c')] })]
    expect(decided({ queue, machines })).toMatchObject({ assign: [], unassign: [], create: [], shutdown: [] })
  })

  test('back what it gave a machine on hold, and what is no longer in the queue', () => {
    const machines = [
      fresh('h', 'small', { containers: [unsent('c')], idleBehavior: 'hold' }),
      fresh('i', 'gpu', { containers: [unsent('gone')] }),
    ]
    const { unassign, create } = decided({ queue, machines })
    expect(unassign).toEqual([
      { container: 'c', machine: 'h' },
      { container: 'gone', machine: 'i' },
    ])
    expect(create).toMatchObject([{ containers: ['c'] }])
  })
})

describe('decide ends', () => {
  const whys = (over: Partial<Input>) => decided(over).shutdown.map(({ machine, why }) => [machine, why])

  test('idle machines after their time, drained, broken and unknown ones at once, and none on hold', () => {
    const machines = [
      fresh('idle', 'small', { sinceMs: now - someRules.timeoutIdleMs }),
      fresh('still', 'small'),
      fresh('drain', 'small', { idleBehavior: 'drain' }),
      fresh('broken', 'small', { broken: true }),
      fresh('type', 'gone'),
      fresh('hold', 'gone', { idleBehavior: 'hold', broken: true, sinceMs: 0, probedMs: 0 }),
      fresh('busy', 'gone', { state: 'running', broken: true, idleBehavior: 'drain', containers: [sent('c')] }),
    ]
    const expected = [
      ['drain', 'drain'],
      ['broken', 'broken'],
      ['type', 'type'],
      ['idle', 'idle'],
    ]
    expect(whys({ machines })).toEqual(expected)
  })

  test('machines that do not come up, or that answer no more', () => {
    const machines = [
      fresh('boots', 'small', { state: 'booting', sinceMs: now - someRules.timeoutBootingMs }),
      fresh('silent', 'small', { state: 'running', sinceMs: 0, probedMs: now - someRules.timeoutProbeMs }),
      fresh('unknown', 'small', { state: 'unknown', sinceMs: 0, probedMs: now - someRules.timeoutProbeMs + 1 }),
    ]
    expect(decided({ machines })).toMatchObject({
      shutdown: [
        { machine: 'boots', why: 'boot' },
        { machine: 'silent', why: 'unreachable' },
      ],
      dueMs: now + 1,
    })
  })

  test('unused idle machines at once while the cloud refuses', () => {
    expect(whys({ machines: [fresh('i', 'small')], throttle: { ...calm, hurry: true } })).toEqual([['i', 'room']])
  })

  test('as many unused machines as those at a limit need, less those that end already', () => {
    const queue = [waitingOf('a', 'four'), waitingOf('b', 'four')]
    const unused = [fresh('1', 'small'), fresh('2', 'small'), fresh('3', 'small')]
    const rules = { ...someRules, maxInstances: 4 }
    expect(whys({ queue, rules, machines: [...unused, fresh('4', 'small', { state: 'shutdown' })] })).toHaveLength(1)
    expect(
      whys({ queue, rules, machines: [...unused, fresh('4', 'small', { containers: [sent('x')] })] }),
    ).toHaveLength(2)
  })
})

describe('decide keeps room at a limit', () => {
  const rules = { ...someRules, maxInstances: 1 }
  const machines = [fresh('i', 'small')]
  const low = waitingOf('low', 'one', { priority: 1 })

  test('for who is more urgent: others do not use the machine that ends for him', () => {
    const queue = [low, waitingOf('high', 'four', { priority: 2 })]
    expect(decided({ queue, rules, machines })).toMatchObject({ assign: [], shutdown: [{ machine: 'i', why: 'room' }] })
  })

  test('not for who is only older: the machine goes on serving', () => {
    const queue = [low, waitingOf('older', 'four', { priority: 1, queuedMs: -1 })]
    expect(decided({ queue, rules, machines })).toMatchObject({ assign: [{ container: 'low' }], shutdown: [] })
  })

  test('of a tenant: its cheaper containers do not use up the money of a dearer one', () => {
    const tenants = new Map([['t', { maxPricePerHour: 9.5 }]])
    const queue = [waitingOf('gpu', 'gpu', { tenant: 't', priority: 2 }), { ...low, tenant: 't' }]
    const running = fresh('r', 'small', { tenant: 't', containers: [sent('x')] })
    const decisions = decided({ queue, rules: { ...someRules, tenants }, machines: [running] })
    expect(decisions.create).toEqual([])
    expect(decisions.statuses[0]!.sentence).toBe('It waits: tenant t has machines for all its money')
  })

  test('but not for a container that can never have it', () => {
    const tenants = new Map([['t', { maxPricePerHour: 8 }]])
    const queue = [waitingOf('gpu', 'gpu', { tenant: 't', priority: 2 }), { ...low, tenant: 't' }]
    expect(decided({ queue, rules: { ...someRules, tenants } }).create).toMatchObject([{ containers: ['low'] }])
  })
})

describe('decide with machines that others hold', () => {
  const boots = (id: string, uuid: string) => fresh(id, 'small', { state: 'booting', containers: [unsent(uuid)] })
  const [first, second, third] = ['1', '2', '3'].map((uuid, i) => waitingOf(uuid, 'one', { queuedMs: i }))
  const queue = [first!, second!, third!]

  test('takes that of the last in the queue', () => {
    const { unassign, assign } = decided({ queue, machines: [boots('a', '2'), boots('b', '3')] })
    expect({ unassign, assign }).toEqual({
      unassign: [{ container: '3', machine: 'b' }],
      assign: [{ container: '1', machine: 'b' }],
    })
  })

  test('gives the one that boots to the next, when its container gets an idle one', () => {
    const decisions = decided({ queue, machines: [boots('b', '1'), boots('c', '3'), fresh('i', 'small')] })
    expect(decisions).toMatchObject({ unassign: [{ container: '1', machine: 'b' }], create: [] })
    expect(decisions.assign).toEqual([
      { container: '2', machine: 'b' },
      { container: '1', machine: 'i' },
    ])
  })

  test('keeps none for a container whose machine ends for somebody', () => {
    const priorities = [waitingOf('high', 'four', { priority: 3 }), waitingOf('mid', 'one', { priority: 2 })]
    const machines = [fresh('i', 'small', { containers: [unsent('1')] })]
    const rules = { ...someRules, maxInstances: 1 }
    expect(decided({ queue: [...priorities, first!], machines, rules })).toMatchObject({
      ...{ assign: [], unassign: [{ container: '1', machine: 'i' }], shutdown: [{ machine: 'i' }] },
    })
  })

  test('counts a machine of another tenant, which it may use only below the limit of its own', () => {
    const its = queue.map(each => ({ ...each, tenant: 't' }))
    const rules = { ...someRules, tenants: new Map([['t', { maxInstances: 1 }]]) }
    const decisions = decided({ queue: its, rules, machines: [fresh('a', 'small'), fresh('b', 'small')] })
    expect([decisions.assign.length, decisions.create.length]).toEqual([1, 0])
    const none = { ...someRules, tenants: new Map([['t', { maxInstances: 0 }]]) }
    const held = decided({ queue: its, rules: none, machines: [fresh('a', 'small', { containers: [unsent('1')] })] })
    expect(held).toMatchObject({ assign: [], unassign: [{ container: '1' }] })
  })
})

describe('decide gives up', () => {
  test('a container that no type fits, or that never began, and takes its machine back', () => {
    const queue = [waitingOf('huge', 'huge'), waitingOf('tried', 'one', { attempts: 10 })]
    const machines = [fresh('i', 'small', { containers: [unsent('tried')] })]
    expect(decided({ queue, machines })).toMatchObject({
      fail: [
        { container: 'huge', why: expect.stringContaining('gpu: 4 of 64 VCPUs') },
        { container: 'tried', why: 'No start in 10 attempts' },
      ],
      unassign: [{ container: 'tried', machine: 'i' }],
    })
  })

  test('no more containers than may run, those that run counted', () => {
    const queue = [waitingOf('a', 'one', { priority: 2 }), waitingOf('b', 'one'), waitingOf('c', 'one')]
    const machines = [fresh('r', 'small', { state: 'running', containers: [sent('x')] }), fresh('i', 'small')]
    const { assign, create, statuses } = decided({ queue, machines, rules: { ...someRules, maxContainers: 3 } })
    expect([assign, create]).toMatchObject([[{ container: 'a' }], [{ containers: ['b'] }]])
    expect(statuses).toMatchObject([{ sentence: 'It waits: 3 containers run, more do not yet', waiting: 1 }])
  })

  test('nothing that waits: priority 0, supervisors above their share, an unknown shape', () => {
    const supervisor = { supervisor: true }
    const queue = [
      waitingOf('a', 'one', { priority: 0 }),
      ...['b', 'c'].map(uuid => waitingOf(uuid, 'one', supervisor)),
      waitingOf('d', '?'),
    ]
    const rules = { ...someRules, supervisorFraction: 0, maxInstances: Number.POSITIVE_INFINITY }
    const { create, fail, statuses } = decided({ queue, rules })
    expect([create.flatMap(({ containers }) => containers), fail]).toEqual([['b'], []])
    expect(statuses.map(({ sentence }) => sentence).toSorted()).toEqual([
      'It waits: its priority is 0',
      'It waits: nothing is known of what it needs',
      'It waits: supervisors have their share of the machines',
    ])
  })
})
