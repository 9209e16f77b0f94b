/** The owner of a superseded creation is struck before it has released the creation, or just after. */
import { expect } from 'vitest'
import type { Trial } from '../../kit/attack/attack.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { isWhole, supersededPoints } from './points.ts'
import * as wave from './wave.ts'

const points = isWhole ? supersededPoints : supersededPoints.slice(1, 2)

/** Brings a creation to the point of the blow, and supersedes it. */
async function supersede(fleet: Fleet, point: string, url: string) {
  const user = fleet.user()
  // At the first point a write is on the wire when the deletion comes; at the others the owner releases first.
  const isOnWire = point.startsWith('lab.create.make.')
  const first = await wave.halfMade(fleet, user, url, isOnWire ? point : undefined)
  const arm = isOnWire ? first : fleet.arm(point, 'hold', { user: user.username })
  expect((await fleet.admin.at(url).delete(user.username)).status).toBe(202)
  if (!isOnWire) first.release()
  return { user, arm, mark: await arm.landed() }
}

/** The deletion completes, and nothing of the creation is left. */
export async function strikeSuperseded(
  trial: Trial,
  signal: 'SIGKILL' | 'SIGSTOP',
  options: FleetOptions,
): Promise<void> {
  const fleet = await trial.fleet({ ...options, restart: true })
  const users = []
  for (const point of points) {
    trial.injected()
    const { user, arm, mark } = await supersede(fleet, point, fleet.anyUrl())
    const struck = fleet.indexOf(mark.replica)
    const struckAtMs = Date.now()
    await fleet.kill(struck, signal)
    // Its lease ran on, or it was released: otherwise another owner came before the blow.
    if (struckAtMs - mark.atMs < wave.ttlMs / 2) trial.landed()
    const through = user.at(fleet.url((struck + 1) % fleet.size))
    const { outcome, op } = await through.follow()
    expect([point, outcome]).toEqual([point, 'complete'])
    // The deletion may have begun before the creation's owner was struck.
    const begunAtMs = (await wave.resumptions(fleet, 0, op)).get(user.username)!
    wave.expectInTime(trial, [{ ms: Math.max(0, begunAtMs - mark.atMs) }])
    arm.release()
    if (signal === 'SIGSTOP') await fleet.kill(struck, 'SIGCONT')
    await fleet.ready()
    users.push(user)
  }
  await wave.expectNothingLeft(fleet, users)
}
