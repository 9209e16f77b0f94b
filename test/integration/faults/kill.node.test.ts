/** kill -9 of the owner in the middle of a creation whose pod a real kubelet starts. */
import { expect } from 'vitest'
import { attack, type Fight } from '../harness/attack.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const one = 'lab.create.make.pod.after-act'
const points = isWhole ? [one, 'lab.create.make.service.after-act', 'lab.create.start.after-commit'] : [one]

/** The lab comes up, and its container was started once. */
async function kill(fight: Fight, point: string): Promise<void> {
  const { leaseTtlMs, scanIntervalMs } = wave.waveFleet.config.engine
  const fleet = await fight.fleet({ restart: true, config: { engine: { leaseTtlMs, scanIntervalMs } } })
  const user = fleet.user()
  fight.injected()
  const arm = fleet.arm(point, 'kill', { user: user.username })
  const through = user.at(await fleet.balancerUrl())
  await through.create().catch(() => {})
  const followed = await through.follow()
  const { atMs } = await arm.landed()
  fight.landed()
  expect(followed.outcome).toBe('complete')
  wave.expectInTime(fight, [{ ms: (await wave.resumptions(fleet, atMs)).get(user.username)! - atMs }])

  const namespace = fleet.namespace(user.username)
  const [status] = (await fleet.world.podOf(user.username)).status.containerStatuses
  expect(status).toMatchObject({ restartCount: 0, started: true })
  const events = await fleet.world.kube.list(`/api/v1/namespaces/${namespace}/events`)
  const starts = events.filter(({ reason }) => reason === 'Started')
  expect(starts.map(({ count }) => count)).toEqual([1])
  const made = (await fleet.audit.writesOf(namespace)).filter(({ verb, code }) => verb === 'create' && code < 300)
  expect(made.map(({ resource }) => resource).filter(resource => resource === 'pods')).toHaveLength(1)
  expect(made).toHaveLength(8)
  fight.figure('starts', starts.length)
  fight.figure('connections', followed.connections)
  await fleet.ready()
  await wave.expectNothingLeft(fleet, [user])
}

for (const point of points) attack(`T1 kill -9 on a real kubelet, ${point}`, fight => kill(fight, point))
