/** Ways in which Redis loses what it held. */
import type { Fleet } from '../../kit/fleet/fleet.ts'

/** Resolves when the data are gone; what it gives brings Redis back. */
export type Lose = (fleet: Fleet) => Promise<() => Promise<unknown>>

export const flushAll: Lose = async fleet => {
  await fleet.world.redis.flushall()
  return async () => {}
}

export const restartEmpty: Lose = async fleet => {
  await fleet.redis.kill()
  return () => fleet.redis.start()
}
