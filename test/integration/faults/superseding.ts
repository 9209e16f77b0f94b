/** The owner of a creation is struck when a deletion has taken its place and it has not let go yet, or just has. */
import { expect } from 'vitest'
import type { Trial } from '../../kit/attack/attack.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { isWhole, supersededPoints } from './points.ts'
import * as wave from './wave.ts'

const points = isWhole ? supersededPoints : supersededPoints.slice(1, 2)

/** Brings a creation to where its owner is to be struck, and has it superseded. */
async function supersede(fleet: Fleet, point: string, url: string) {
  const user = fleet.user()
  // A write that is on the wire when the deletion comes; whoever is not there yet lets go first.
  const isOnWire = point.startsWith('lab.create.make.')
  const first = await wave.halfMade(fleet, user, url, isOnWire ? point : undefined)
  const arm = isOnWire ? first : fleet.arm(point, 'hold', { user: user.username })
  expect((await fleet.admin.at(url).delete(user.username)).status).toBe(202)
  if (!isOnWire) first.release()
  return { user, arm, mark: await arm.landed() }
}

/** The deletion comes to its end, and nothing of the creation is left. */
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
    // Its lease ran on, or it was let go of already: else another owner has come before the blow.
    if (struckAtMs - mark.atMs < wave.ttlMs / 2) trial.landed()
    const through = user.at(fleet.url((struck + 1) % fleet.size))
    const { outcome, op } = await through.follow()
    expect([point, outcome]).toEqual([point, 'complete'])
    // The deletion may have begun before its predecessor's owner was struck.
    const begunAtMs = (await wave.resumptions(fleet, 0, op)).get(user.username)!
    wave.expectInTime(trial, [{ ms: Math.max(0, begunAtMs - mark.atMs) }])
    arm.release()
    if (signal === 'SIGSTOP') await fleet.kill(struck, 'SIGCONT')
    await fleet.ready()
    users.push(user)
  }
  await wave.expectNothingLeft(fleet, users)
}
