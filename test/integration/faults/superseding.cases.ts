/** The owner of a creation is struck when a deletion has taken its place and it has not let go yet, or just has. */
import { expect } from 'vitest'
import { attack, type Fight } from '../harness/attack.ts'
import type { Fleet } from '../harness/fleet.ts'
import { isWhole, supersededPoints } from './points.ts'
import * as wave from './wave.ts'

const points = isWhole ? supersededPoints : supersededPoints.slice(1, 2)
const { leaseTtlMs, scanIntervalMs } = wave.waveFleet.config.engine
const config = { engine: { leaseTtlMs, scanIntervalMs }, kubernetes: { requestTimeoutSeconds: 60 } }

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

async function strike(fight: Fight, signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  const fleet = await fight.fleet({ restart: true, config })
  const users = []
  for (const point of points) {
    fight.injected()
    const { user, arm, mark } = await supersede(fleet, point, fleet.anyUrl())
    const struck = fleet.indexOf(mark.replica)
    const struckAtMs = Date.now()
    await fleet.kill(struck, signal)
    // Its lease ran on, or it was let go of already: else another owner has come before the blow.
    if (struckAtMs - mark.atMs < leaseTtlMs / 2) fight.landed()
    const through = user.at(fleet.url((struck + 1) % fleet.size))
    const { outcome } = await through.follow()
    expect([point, outcome]).toEqual([point, 'complete'])
    const begunAtMs = (await wave.resumptions(fleet, mark.atMs)).get(user.username)!
    wave.expectInTime(fight, [{ ms: begunAtMs - mark.atMs }])
    arm.release()
    if (signal === 'SIGSTOP') await fleet.kill(struck, 'SIGCONT')
    await fleet.ready()
    users.push(user)
  }
  await wave.expectNothingLeft(fleet, users)
}

attack('T1 kill -9 while superseding', fight => strike(fight, 'SIGKILL'), { concurrent: true })
if (isWhole) attack('T3 stop past the lease while superseding', fight => strike(fight, 'SIGSTOP'), { concurrent: true })
