import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Alarms } from './alarms.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))

function useAlarms() {
  const clock = new ManualClock()
  const rung: string[] = []
  const alarm = (name: string) => () => void rung.push(name)
  const pass = async (ms: number) => {
    clock.advance(ms)
    await settled()
  }
  return { clock, rung, alarm, pass, alarms: new Alarms(clock, 100) }
}

it('alarms ring once, each after its own time, with one timer', async () => {
  const { clock, rung, alarm, pass, alarms } = useAlarms()
  alarms.set(alarm('first'))
  await pass(30)
  alarms.set(alarm('second'))
  expect(clock.sleeping).toBe(1)
  await pass(69)
  expect(rung).toEqual([])
  await pass(1)
  expect([rung, clock.sleeping]).toEqual([['first'], 1])
  await pass(30)
  expect([rung, clock.sleeping]).toEqual([['first', 'second'], 0])
})

it('an alarm begins anew when it is set again', async () => {
  const { rung, alarm, pass, alarms } = useAlarms()
  const again = alarm('again')
  alarms.set(again)
  await pass(60)
  alarms.set(again)
  await pass(60)
  expect(rung).toEqual([])
  await pass(40)
  expect(rung).toEqual(['again'])
})

it('a cleared alarm does not ring, and the last one ends the timer', async () => {
  const { clock, rung, alarm, pass, alarms } = useAlarms()
  const [one, other] = [alarm('one'), alarm('other')]
  for (const ring of [one, other]) alarms.set(ring)
  alarms.clear(one)
  expect(clock.sleeping).toBe(1)
  alarms.clear(other)
  expect(clock.sleeping).toBe(0)
  await pass(100)
  expect(rung).toEqual([])
})

it('an alarm can be set anew while it rings, and while the timer ends', async () => {
  const { clock, rung, pass, alarms } = useAlarms()
  const forever = () => {
    rung.push('rung')
    alarms.set(forever)
  }
  alarms.set(forever)
  await pass(100)
  await pass(100)
  expect(rung).toEqual(['rung', 'rung'])
  // The timer has ended here, but its promise was not handled yet.
  clock.advance(100)
  alarms.clear(forever)
  alarms.set(forever)
  await settled()
  expect([rung.length, clock.sleeping]).toEqual([2, 1])
})
