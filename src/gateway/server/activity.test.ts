import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import { RetryLater } from '../../base/errors.ts'
import type { TouchAnswer } from '../../store/idle.ts'
import type { Use } from '../../store/traffic.ts'
import { Activity } from './activity.ts'

function start() {
  const clock = new ManualClock()
  const touched: string[] = []
  const flushed: (readonly Use[])[] = []
  const answers: (TouchAnswer | Error)[] = []
  let outage = false
  const flush = async (uses: readonly Use[]) => {
    if (outage) throw new RetryLater('no Redis')
    flushed.push(uses)
    return uses.map(() => 'kept' as const)
  }
  const traffic = {
    join: async () => {},
    touch: async ({ id }: Use) => {
      touched.push(id)
      const answer = answers.shift() ?? 'kept'
      if (answer instanceof Error) throw answer
      return answer
    },
    flush,
    leave: async (uses: readonly Use[] = []) => flush(uses),
  }
  const activity = new Activity({ traffic, clock, log: keepingLog() })
  /** Resolves when the next flush is over. */
  const nextFlush = async (ms = 5000) => {
    await clock.whenSleeping(ms)
    clock.advance(ms)
    await clock.sleepBetween(1000, 5000)
  }
  const setOutage = (is: boolean) => {
    outage = is
  }
  return { activity, clock, touched, flushed, answers, nextFlush, setOutage }
}

test('Activity tells the first use, and the first after 30 s of silence, before it is let through', async () => {
  const { activity, clock, touched } = start()
  expect(await activity.use('a')).toBe(true)
  clock.advance(30_000)
  expect(activity.use('a')).toBe(true)
  clock.advance(30_001)
  expect(await activity.use('a')).toBe(true)
  expect(touched).toEqual(['a', 'a'])
})

test('Activity tells one use when several come at once, and all obey the answer', async () => {
  const { activity, touched, answers } = start()
  answers.push('stopping')
  expect(await Promise.all([activity.use('a'), activity.use('a')])).toEqual([false, false])
  expect(touched).toEqual(['a'])
  expect(await activity.use('a')).toBe(true)
})

test('Activity lets a use through when Redis does not answer, and tells it later', async () => {
  const { activity, clock, answers, flushed, nextFlush } = start()
  await activity.join()
  answers.push(new RetryLater('no Redis'))
  const atMs = clock.monotonicMs()
  expect(await activity.use('a')).toBe(true)
  await nextFlush()
  expect(flushed).toEqual([[{ kind: 'app', id: 'a', atMs }]])
})

test('Activity flushes each 5 s, also when there was nothing', async () => {
  const { activity, flushed, nextFlush } = start()
  await activity.join()
  await nextFlush()
  activity.saw('b')
  await nextFlush()
  expect(flushed.map(uses => uses.map(({ id }) => id))).toEqual([[], ['b']])
})

test('Activity tells the same again when a flush failed', async () => {
  const { activity, flushed, nextFlush, setOutage } = start()
  await activity.join()
  activity.saw('a')
  setOutage(true)
  await nextFlush()
  setOutage(false)
  await nextFlush(1000)
  expect(flushed.map(uses => uses.map(({ id }) => id))).toEqual([['a']])
})

test('Activity tells the rest when it leaves', async () => {
  const { activity, flushed } = start()
  await activity.join()
  activity.saw('a')
  await activity.leave()
  expect(flushed.map(uses => uses.map(({ id }) => id))).toEqual([['a']])
})

test('Activity counts an open request as use until it ends', async () => {
  const { activity, clock, flushed, nextFlush } = start()
  await activity.join()
  const atMs = clock.monotonicMs()
  const end = activity.begin('a')
  await nextFlush()
  end()
  await nextFlush()
  await nextFlush()
  expect(flushed).toEqual([
    [{ kind: 'app', id: 'a', atMs: atMs + 5000 }],
    [{ kind: 'app', id: 'a', atMs: atMs + 5000 }],
    [],
  ])
})
