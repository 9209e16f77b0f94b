/** Writes of samples to Redis: for each Sample the image that it serves, by a script that refuses older generations. */
import type { Redis } from 'ioredis'
import { Fenced, RetryLater } from '../../../src/base/errors.ts'

export interface SampleRoute {
  readonly uid: string
  readonly generation: number
  readonly image: string
}

export type WriteRoute = (route: SampleRoute, signal: AbortSignal) => Promise<void>

/**
 * Writes the route of a generation, unless a newer one of this UID is written. Each UID has its own field: who was made again
 * begins at generation 1.
 * KEYS: routes (hash)
 * ARGV: uid generation image
 * returns: 1 (written) or 0 (a newer one is known)
 */
const writeRoute = `
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known and tonumber(string.match(known, '^%d+')) > tonumber(ARGV[2]) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
return 1
`

export const routesKey = (prefix: string): string => `{${prefix}}:sample-routes`

export function routesIn(redis: Redis, prefix: string): WriteRoute {
  redis.defineCommand('writeSampleRoute', { lua: writeRoute, numberOfKeys: 1 })
  const { writeSampleRoute } = redis as unknown as { writeSampleRoute(...args: (string | number)[]): Promise<unknown> }
  return async ({ uid, generation, image }) => {
    const unanswered = (cause: unknown) => {
      throw new RetryLater('Redis does not answer', undefined, { cause })
    }
    const written = await writeSampleRoute.call(redis, routesKey(prefix), uid, generation, image).catch(unanswered)
    if (written === 0) throw new Fenced('a newer generation is known')
  }
}
