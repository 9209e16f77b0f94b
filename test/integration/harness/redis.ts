/** A Redis of a test's own: a process, or a container where `npm test -- --containers redis` asked for that. */
import { type Redis, type RedisOptions, startRedis } from '../../../box/redis.ts'
import { testPlace } from './place.ts'

/** Starts it; resolves when it answers. One whose clock is to be stepped is a process in any case: containers refuse it. */
export async function startTestRedis(options: RedisOptions): Promise<Redis> {
  const image = testPlace().redisImage
  if (image === null || options.wrongClock) return startRedis(options)
  const { startRedisContainer } = await import('../../../box/redis-container.ts')
  return startRedisContainer({ ...options, image })
}
