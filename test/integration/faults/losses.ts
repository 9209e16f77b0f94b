/** Ways in which Redis loses its data. */
import type { Fleet } from '../../kit/fleet/fleet.ts'

/** Resolves when the data are lost. The result brings Redis back. */
export type Lose = (fleet: Fleet) => Promise<() => Promise<unknown>>

export const flushAll: Lose = async fleet => {
  await fleet.world.redis.flushall()
  return async () => {}
}

export const restartEmpty: Lose = async fleet => {
  await fleet.redis.kill()
  return () => fleet.redis.start()
}
