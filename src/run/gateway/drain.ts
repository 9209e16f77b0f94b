/** The drain of a gateway: no request is lost, and the clients of WebSockets come to other replicas little by little. */
import type { Clock } from '../../base/clock.ts'
import type { Activity } from '../../gateway/server/activity.ts'
import type { Door } from '../../gateway/server/door.ts'
import type { Sockets } from '../../gateway/websocket/sockets.ts'

export interface DrainParts {
  readonly clock: Clock
  readonly door: Pick<Door, 'beginDrain' | 'stopAccepting' | 'cut'>
  readonly sockets: Pick<Sockets, 'closeOver'>
  readonly activity: Pick<Activity, 'leave'>
  /** `gateway.drainSeconds`. */
  readonly drainMs: number
}

/** How long balancers may go on sending connections to a replica that has just become unready; at most this share. */
const unreadyMs = 5000
const unreadyShare = 1 / 4

/** Longest time from the signal to the end, for a drain of this time. */
export const longestDrainMs = (drainMs: number): number => drainMs + unreadyMs + 10_000

export async function drainGateway({ clock, door, sockets, activity, drainMs }: DrainParts): Promise<boolean> {
  door.beginDrain()
  await clock.sleep(Math.min(unreadyMs, drainMs * unreadyShare))
  const over = new AbortController()
  const closed = door.stopAccepting().then(() => over.abort())
  // Others would wait for the last lot: requests take their time, and idle connections may have one on its way.
  await Promise.all([sockets.closeOver(drainMs), clock.sleep(drainMs, over.signal).catch(() => {})])
  door.cut()
  await closed
  await activity.leave()
  return true
}
