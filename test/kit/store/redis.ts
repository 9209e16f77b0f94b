/** A Redis of a test's own: a process, or a container where `npm test -- --containers redis` asked for that. */
import { type Redis, type RedisOptions, startRedis } from '../../../dev/redis/redis.ts'
import { testBed } from '../testbed.ts'
import { everythingByTls, redisTls } from '../tls/tls.ts'

/** Starts it; resolves when it answers. One whose clock is to be stepped is a process in any case: containers refuse it. */
export async function startTestRedis(options: RedisOptions): Promise<Redis> {
  const image = testBed().redisImage
  const tls = options.tls ?? (everythingByTls ? redisTls() : undefined)
  if (image === null || options.wrongClock || tls) return startRedis({ ...options, tls })
  const { startRedisContainer } = await import('../../../dev/redis/container.ts')
  return startRedisContainer({ ...options, image })
}
