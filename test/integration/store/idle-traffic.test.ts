/** Gateways tell what they let through; silence counts only where each one has told. */
import { expect, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import { TrafficStore } from '../../../src/store/traffic.ts'
import { ManualClock } from '../../kit/clock.ts'
import { activity, hourMs, minuteMs, podUid, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const uses = (...ids: string[]) => ids.map(id => ({ kind: 'app' as const, id }))
const untold = async () => (await idle().activity.read('app', 'a', podUid)).trafficIsUntold
const marks = () => idle().store.redis.hgetall(idle().store.keys.activityFlushed('app'))

/** The gateway has told up to so long ago. */
async function setMark(gateway: string, agoMs: number): Promise<void> {
  const { redis, keys } = idle().store
  await redis.hset(keys.activityFlushed('app'), gateway, (await idle().nowMs()) - agoMs)
}

test('flush notes all uses by one script, and answers for each', async () => {
  const { redis, keys, connection } = idle().store
  await redis.hset(keys.activity('app', 'b'), 'stopping', 1)
  const gateway = idle().gateway('g')
  let scripts = 0
  const run = connection.run.bind(connection)
  connection.run = (...args) => {
    scripts += 1
    return run(...args)
  }
  const many = uses('a', 'b', ...Array.from({ length: 298 }, (_, i) => `c${i}`))
  const answers = await gateway.flush(many)
  expect([scripts, answers.length]).toEqual([1, 300])
  expect(answers.slice(0, 3)).toEqual(['kept', 'stopping', 'kept'])
  expect(await idle().known('app', 'c7')).toMatchObject({ touchedBy: 'traffic', touches: '1' })
  expect(await idle().known('app', 'b')).not.toHaveProperty('touched')
  expect(await gateway.flush([])).toEqual([])
})

test('flush says how long ago a use was', async () => {
  const clock = new ManualClock()
  clock.advance(hourMs)
  const now = await idle().nowMs()
  await idle()
    .gateway('g', clock)
    .flush([{ kind: 'app', id: 'a', atMs: clock.monotonicMs() - 3000 }])
  const { touched } = await idle().known('app', 'a')
  expect(Number(touched)).toBeGreaterThanOrEqual(now - 3000)
  expect(Number(touched)).toBeLessThan((await idle().nowMs()) - 2000)
})

test('silence counts only while a gateway tells', async () => {
  expect(await untold()).toBe(true)
  const gateway = idle().gateway('g')
  await gateway.join()
  expect(await untold()).toBe(false)
  await gateway.leave()
  expect(await marks()).toEqual({})
  expect(await untold()).toBe(true)
})

test('silence counts for the kinds alone that the gateway serves', async () => {
  await idle().gateway('g').join()
  expect((await idle().activity.read('notebook', 'a', podUid)).trafficIsUntold).toBe(true)
})

test('silence does not count while one of two gateways is behind', async () => {
  const [first, second] = [idle().gateway('g'), idle().gateway('h')]
  await first.join()
  await second.join()
  expect(await untold()).toBe(false)
  await setMark('h', 30_000)
  await first.flush([])
  expect(await untold()).toBe(true)
  await second.flush([])
  expect(await untold()).toBe(false)
  await setMark('h', 30_000)
  await second.leave()
  expect(await untold()).toBe(false)
})

test('a gateway that is silent for long is not waited for, and is forgotten', async () => {
  await idle().gateway('g').join()
  await setMark('h', 11 * minuteMs)
  expect(await untold()).toBe(false)
  await idle().gateway('g').flush([])
  expect(Object.keys(await marks())).toEqual(['g'])
  await setMark('g', 11 * minuteMs)
  expect(await untold()).toBe(true)
})

test('a mark ahead of now proves nothing', async () => {
  await setMark('g', -minuteMs)
  expect(await untold()).toBe(true)
})

test('a flush that comes late says nothing of the time that it took', async () => {
  const clock = new ManualClock()
  const gateway = idle().gateway('g', clock)
  await gateway.join()
  const joinedMs = Number((await marks()).g)
  while ((await idle().nowMs()) < joinedMs + 3);
  clock.advance(1)
  await gateway.flush([])
  expect(Number((await marks()).g)).toBe(joinedMs + 1)
})

test('a mark never falls, and is never ahead', async () => {
  const { touches } = idle()
  const now = await idle().nowMs()
  await touches.touchAll('app', [], 'traffic', { gateway: 'g' })
  await touches.touchAll('app', [], 'traffic', { gateway: 'g', upToMs: now - minuteMs })
  expect(Number((await marks()).g)).toBeGreaterThanOrEqual(now)
  await touches.touchAll('app', [], 'traffic', { gateway: 'g', upToMs: now + hourMs })
  expect(Number((await marks()).g)).toBeLessThanOrEqual(await idle().nowMs())
})

test('nothing is said of silence when a part of the uses could not be told', async () => {
  const { touches } = idle()
  let calls = 0
  const gateway = new TrafficStore({
    touches: {
      touch: touches.touch.bind(touches),
      touchAll: async (...args) => {
        calls += 1
        if (calls === 2) throw new RetryLater('Redis does not answer')
        return touches.touchAll(...args)
      },
    },
    ...{ clock: new ManualClock(), gateway: 'g', kinds: ['app'] },
  })
  const many = uses(...Array.from({ length: 501 }, (_, i) => `a${i}`))
  await expect(gateway.flush(many)).rejects.toThrow(RetryLater)
  expect(await untold()).toBe(true)
  expect(await gateway.flush(many)).toHaveLength(501)
  expect(await untold()).toBe(false)
})

test('the first use after silence is refused when the stop was requested before, and refuses it else', async () => {
  await idle().due.enrol('app', ['a', 'b'], 0)
  const gateway = idle().gateway('g')
  await gateway.join()
  const ask = async (id: string) => {
    const now = await idle().nowMs()
    await idle().check('app', id, { activity: activity({ lastMs: now, warnedMs: now }) })
    await idle().pass('app', id, 2 * hourMs)
    const { score } = await idle().take('app', id)
    return { kind: 'app' as const, ...idle().ask(id, score, await idle().activity.read('app', id, podUid)) }
  }
  expect(await idle().activity.requestStop(await ask('a'))).toBe('requested')
  expect(await gateway.touch({ kind: 'app', id: 'a' })).toBe('stopping')
  const late = await ask('b')
  expect(await gateway.touch({ kind: 'app', id: 'b' })).toBe('kept')
  expect(await idle().activity.requestStop(late)).toBe('changed')
})
