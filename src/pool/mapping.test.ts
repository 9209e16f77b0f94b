import { describe, expect, it } from 'vitest'
import { decide } from '../dispatch/decide.ts'
import { needOf, someRules } from '../dispatch/testing/world.ts'
import type { Decisions } from '../dispatch/types.ts'
import { draftsOf, headsOf, inputOf, opOf, sentencesOf, shapeOf } from './mapping.ts'
import { briefOf, groupOf, nowMs, offeredTypes, readingOf, uuidOf, waits } from './testing/reading.ts'

const pool = { types: offeredTypes, rules: someRules }
const known = { maxContainers: 10, heldOp: 0, watchedMs: 0 }
const nothing: Decisions = {
  ...{ unassign: [], assign: [], create: [], shutdown: [], fail: [], statuses: [], dueMs: undefined },
}

describe('inputOf', () => {
  it('gives groups with the same need one shape', () => {
    const groups = [groupOf({ need: needOf(2) }), groupOf({ id: 'h', need: needOf(2), tenant: 't' })]
    const { queue, shapes } = inputOf(readingOf({ groups, queue: [waits(5), waits(6, { shape: 'h' })] }), pool, known)
    expect(queue.map(({ shape }) => shape)).toEqual([shapeOf(needOf(2)), shapeOf(needOf(2))])
    expect([...shapes.values()]).toEqual([needOf(2)])
  })

  it('counts a machine with a reason to end as one that shuts down', () => {
    const machines = [briefOf('a', { ending: 'idle' }), briefOf('b', { broken: 'it says so' })]
    const input = inputOf(readingOf({ machines }), pool, known)
    expect(input.machines).toMatchObject([
      { id: 'a', state: 'shutdown' },
      { id: 'b', state: 'idle', broken: true },
    ])
  })

  it('offers nothing on a machine when its type is another one of the cloud now', () => {
    const machines = [briefOf('a'), briefOf('b', { providerType: 't.former' }), briefOf('c', { providerType: '' })]
    const input = inputOf(readingOf({ machines, queue: [waits(5), waits(6), waits(7)] }), pool, known)
    const { assign, shutdown } = decide(input)
    expect(assign.map(({ machine }) => machine).toSorted()).toEqual(['a', 'c'])
    expect(shutdown).toEqual([{ machine: 'b', why: 'type' }])
  })

  it('ends no machine for its silence when nobody has looked meanwhile', () => {
    const container = { uuid: uuidOf(5), run: 8, supervisor: false, need: needOf(1) }
    const silentMs = nowMs - someRules.timeoutProbeMs - 1
    const machines = [
      briefOf('a', { state: 'running', sinceMs: silentMs, probedMs: silentMs, containers: [container] }),
      briefOf('b', { state: 'booting', sinceMs: nowMs - someRules.timeoutBootingMs - 1 }),
    ]
    const endedSince = (watchedMs: number) =>
      decide(inputOf(readingOf({ machines }), pool, { ...known, watchedMs })).shutdown.map(({ why }) => why)
    expect([endedSince(nowMs - 60_000), endedSince(silentMs)]).toEqual([[], ['unreachable', 'boot']])
  })

  it('has a container as sent once a run was drawn for it', () => {
    const container = (run: number) => ({ uuid: uuidOf(5), run, supervisor: true, need: needOf(2) })
    const machines = [briefOf('a', { containers: [container(0)] }), briefOf('b', { containers: [container(8)] })]
    const its = inputOf(readingOf({ machines }), pool, known).machines.flatMap(({ containers }) => containers)
    expect(its).toMatchObject([{ sent: false, need: needOf(2) }, { sent: true }])
  })

  it('touches nothing up to the held op when Redis was lost', () => {
    const containers = [{ uuid: uuidOf(5), run: 0, supervisor: false, need: needOf(1) }]
    const reading = readingOf({ queue: [waits(5), waits(6), waits(4)], machines: [briefOf('a', { containers })] })
    const input = inputOf(reading, pool, { ...known, heldOp: 5 })
    expect(input.queue.map(({ uuid }) => opOf(uuid))).toEqual([6])
    expect(decide(input)).toMatchObject({ unassign: [], assign: [] })
    expect(sentencesOf(reading, nothing, 5).get('g')).toMatch(/after a loss of data/)
  })
})

describe('headsOf', () => {
  const head = { shape: shapeOf(needOf(1)), tenant: 'default', supervisor: false }
  const cut = new Set(['g'])

  it('tells where the head of a group ends, of which there are more', () => {
    const queue = [waits(9, { priority: 7 }), waits(8, { priority: 5 }), waits(3, { priority: 1, machine: 'm' })]
    expect(headsOf(readingOf({ cut, queue }), 0)).toEqual([{ ...head, lastPriority: 5 }])
    expect(headsOf(readingOf({ queue }), 0)).toEqual([])
  })

  it('leaves out groups of which something is held, and those with machines for all that were seen', () => {
    expect(headsOf(readingOf({ cut, queue: [waits(2), waits(9)] }), 5)).toEqual([])
    expect(headsOf(readingOf({ cut, queue: [waits(2, { machine: 'm' })] }), 0)).toEqual([])
  })
})

describe('draftsOf', () => {
  it('takes back before it assigns, by what was read', () => {
    const reading = readingOf({
      queue: [waits(1, { version: 4 }), waits(2, { version: 6 })],
      machines: [briefOf('m', { version: 9 }), briefOf('n', { version: 3, probedMs: 77 })],
    })
    const [one, two] = [uuidOf(1), uuidOf(2)]
    const decisions = {
      ...nothing,
      unassign: [{ container: one, machine: 'm' }],
      assign: [{ container: two, machine: 'm' }],
      create: [{ type: 'small', containers: [one], tenant: 't' }],
      shutdown: [{ machine: 'n', why: 'idle' as const }],
    }
    expect(draftsOf(decisions, reading, pool)).toEqual([
      { what: 'unassign', container: { id: one, version: 4 }, machine: { id: 'm', version: 9 } },
      { what: 'assign', container: { id: two, version: 6 }, machine: { id: 'm', version: 9 } },
      { what: 'create', container: { id: one, version: 4 }, others: [], wish: decisions.create[0] },
      { what: 'shutdown', machine: { id: 'n', version: 3 }, probedMs: 77, why: 'idle' },
    ])
  })

  it('tells what a machine may hold where several containers may share it', () => {
    const reading = readingOf({ queue: [waits(1), waits(2), waits(3)], machines: [briefOf('m')] })
    const decisions = {
      ...nothing,
      assign: [{ container: uuidOf(1), machine: 'm' }],
      create: [{ type: 'large', containers: [uuidOf(2), uuidOf(3)], tenant: 't' }],
    }
    const shared = { ...pool, rules: { ...someRules, maxContainersPerMachine: 4 } }
    expect(draftsOf(decisions, reading, shared)).toMatchObject([
      {
        what: 'assign',
        room: { places: 4, extraRamBytes: someRules.reserveExtraRamBytes, most: { vcpus: 1, gpus: 0 } },
      },
      { what: 'create', container: { id: uuidOf(2) }, others: [{ id: uuidOf(3) }], room: { most: { vcpus: 4 } } },
    ])
  })

  it('names no version that exists of what was not read', () => {
    const decisions = { ...nothing, fail: [{ container: uuidOf(1), why: 'no type' }] }
    expect(draftsOf(decisions, readingOf(), pool)).toMatchObject([{ what: 'fail', container: { version: -1 } }])
  })
})

describe('sentencesOf', () => {
  it('has the sentence of each group by its id, supervisors apart, and none where nobody waits', () => {
    const groups = [groupOf(), groupOf({ id: 's', supervisor: true }), groupOf({ id: 'o', tenant: 'other' })]
    const status = { shape: shapeOf(needOf(1)), tenant: 'default', waiting: 1 }
    const statuses = [
      { ...status, supervisor: false, sentence: 'It waits: a' },
      { ...status, supervisor: true, sentence: 'It waits: b' },
    ]
    const sentences = sentencesOf(readingOf({ groups, nowMs }), { ...nothing, statuses }, 0)
    expect([...sentences]).toEqual([
      ['g', 'It waits: a'],
      ['s', 'It waits: b'],
      ['o', ''],
    ])
  })
})
