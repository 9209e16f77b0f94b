import { afterEach, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { RetryLater } from '../base/errors.ts'
import { Enrolment } from './enrolment.ts'

let enrolment: Enrolment

afterEach(() => enrolment.stop())

/** What the watches show: true if it runs. */
function start(shown: Map<string, boolean>, checked: readonly string[] = [], silence = 0) {
  const clock = new ManualClock()
  const due = new Set(checked)
  const calls: string[] = []
  const world = { silence, isAway: false, meanwhile: () => {} }
  const reach = () => {
    if (world.isAway) throw new RetryLater('Redis does not answer')
  }
  enrolment = new Enrolment({
    owners: [
      {
        kind: 'notebook',
        facts: id => (shown.get(id) ? ({ id } as never) : undefined),
        ids: () => shown.keys(),
        leftovers: id => (shown.has(id) && id.startsWith('stamped') ? { a: null } : undefined),
        silenceMs: () => world.silence,
      },
    ],
    due: {
      ids: async () => [...due],
      enrol: async (_kind, ids) => {
        reach()
        for (const id of ids) due.add(id)
        calls.push(`enrol ${ids.join()}`)
        return ids.length
      },
      dismiss: async (_kind, id) => {
        reach()
        world.meanwhile()
        due.delete(id)
        calls.push(`dismiss ${id}`)
      },
    },
    ...{ periodMs: 60_000, tidy: (_kind, id) => void calls.push(`tidy ${id}`), clock, log: keepingLog() },
  })
  enrolment.start()
  const pass = async (ms = 0) => {
    for (let passed = 0; passed <= ms; passed += 100) {
      clock.advance(ms === 0 ? 0 : 100)
      for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
    }
  }
  const change = (id: string, isRunning?: boolean) => {
    if (isRunning === undefined) shown.delete(id)
    else shown.set(id, isRunning)
    enrolment.changed('notebook', id)
  }
  return { calls, due, world, pass, change }
}

it('Enrolment makes the list agree with what runs, and tidies the rest', async () => {
  const shown = new Map(Object.entries({ a: true, b: true, stamped: false, c: false }))
  const { calls, due, pass } = start(shown, ['b', 'gone'])
  await pass()
  expect(calls).toEqual(['tidy stamped', 'dismiss gone', 'enrol a'])
  expect([...due].sort()).toEqual(['a', 'b'])
})

it('Enrolment tells what begins and ends, and nothing when a status changes', async () => {
  const { calls, pass, change } = start(new Map([['a', true]]))
  await pass()
  calls.splice(0)
  change('a', true)
  change('stamped', true)
  await pass(1000)
  change('a', false)
  change('stamped')
  await pass(1000)
  change('a', false)
  await pass(1000)
  expect(calls).toEqual(['enrol stamped', 'dismiss a', 'dismiss stamped'])
})

it('Enrolment compares again each minute, and at once when Redis is another one', async () => {
  const { calls, due, pass } = start(new Map([['a', true]]))
  await pass()
  due.clear()
  await pass(30_000)
  expect(due.size).toBe(0)
  await pass(31_000)
  expect([...due]).toEqual(['a'])
  due.clear()
  enrolment.compareAll()
  await pass(500)
  expect([...due]).toEqual(['a'])
  expect(calls).toEqual(['enrol a', 'enrol a', 'enrol a'])
})

it('Enrolment compares nothing while the watches are silent', async () => {
  const { calls, pass, world } = start(new Map(), ['a'], 10_000)
  await pass(5000)
  expect(calls).toEqual([])
  world.silence = 0
  await pass(2000)
  expect(calls).toEqual(['dismiss a'])
})

it('Enrolment tries again what Redis did not take', async () => {
  const { calls, due, pass, world, change } = start(new Map())
  await pass()
  world.isAway = true
  change('a', true)
  await pass(3000)
  expect(calls).toEqual([])
  world.isAway = false
  await pass(6000)
  expect([...due]).toEqual(['a'])
})

it('Enrolment tells of one that begins to run while Redis answers that it does not', async () => {
  const { due, pass, world, change } = start(new Map())
  await pass()
  world.meanwhile = () => {
    world.meanwhile = () => {}
    change('a', true)
  }
  change('a', false)
  await pass(1000)
  expect([...due]).toEqual(['a'])
})
