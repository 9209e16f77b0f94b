/** Steps of clocks in a fleet, each read back. */
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'

/** Steps the clock of Redis; resolves with whether the step is visible. */
export async function stepRedis(fleet: Fleet, offSeconds: number): Promise<boolean> {
  fleet.redis.stepClock(offSeconds)
  const [seconds] = await fleet.world.redis.time()
  return Math.abs(Number(seconds) - Date.now() / 1000 - offSeconds) < 5
}

/** Steps the wall clock of a replica; resolves when its log shows the step. */
export async function stepReplica(fleet: Fleet, index: number, offSeconds: number): Promise<boolean> {
  fleet.failpoints.stepWallClock(fleet.replica(index).name, offSeconds * 1000)
  const isSeen = async () => {
    await fleet.admin.at(fleet.url(index)).labs()
    const { time } = JSON.parse((await fleet.log(index)).trimEnd().split('\n').at(-1)!) as { time: string }
    return Math.abs(Date.parse(time) - Date.now() - offSeconds * 1000) < 60_000
  }
  return eventually('the step of the clock', isSeen)
}
