/** A test's own Redis: a process, or a container with `npm test -- --containers redis`. */
import { type Redis, type RedisOptions, startRedis } from '../../../dev/redis/redis.ts'
import { testBed } from '../testbed.ts'
import { everythingByTls, redisTls } from '../tls/tls.ts'

/** Starts it; resolves when it answers. With a wrong clock it is always a process: containers refuse clock changes. */
export async function startTestRedis(options: RedisOptions): Promise<Redis> {
  const image = testBed().redisImage
  const tls = options.tls ?? (everythingByTls ? redisTls() : undefined)
  if (image === null || options.wrongClock || tls) return startRedis({ ...options, tls })
  const { startRedisContainer } = await import('../../../dev/redis/container.ts')
  return startRedisContainer({ ...options, image })
}
