/** The stream of everybody's events keeps the newest ten thousand. */
import { expect, test } from 'vitest'
import { useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()

test('end trims the oldest events when there are more than 10,000', async () => {
  const { redis, keys } = idle().store
  await idle().due.enrol('app', ['a'], 0)
  const events = Array.from({ length: 3000 }, () => ({ event: 'unreachable', data: '{}' }) as const)
  for (let i = 0; i < 4; i++) await idle().check('app', 'a', { events })
  const kept = await redis.xlen(keys.activityEvents)
  expect(kept).toBeGreaterThanOrEqual(10_000)
  // Redis removes whole nodes of a hundred.
  expect(kept).toBeLessThan(10_200)
  const { newestId, events: oldest } = await idle().activity.readEvents('0-0', 1)
  expect(newestId!.split('-')[1]).toBe('12000')
  expect(oldest[0]!.id.split('-')[1]).toBe(String(12_000 - kept + 1))
})
