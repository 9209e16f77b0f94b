/** kill -9 of the owner in the middle of a creation whose pod a real kubelet starts. */
import { expect, test } from 'vitest'
import { startFleet } from '../harness/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const one = 'lab.create.make.pod.after-act'
const points = isWhole ? [one, 'lab.create.make.service.after-act', 'lab.create.start.after-commit'] : [one]

test.for(points)('at %s: the lab comes up, and its container was started once', async (point, context) => {
  const { leaseTtlMs, scanIntervalMs } = wave.waveFleet.config.engine
  const fleet = await startFleet(context, { restart: true, config: { engine: { leaseTtlMs, scanIntervalMs } } })
  const user = fleet.user()
  const arm = fleet.arm(point, 'kill', { user: user.username })
  const through = user.at(await fleet.balancerUrl())
  await through.create().catch(() => {})
  const followed = await through.follow()
  const { atMs, pid } = await arm.landed()
  expect(followed.outcome).toBe('complete')
  expect(pid).toBeGreaterThan(0)
  const takeoverMs = (await wave.resumptions(fleet, atMs)).get(user.username)! - atMs
  expect(takeoverMs).toBeLessThanOrEqual(wave.promisedMs)

  const namespace = fleet.namespace(user.username)
  const [status] = (await fleet.world.podOf(user.username)).status.containerStatuses
  expect(status).toMatchObject({ restartCount: 0, started: true })
  const events = await fleet.world.kube.list(`/api/v1/namespaces/${namespace}/events`)
  const starts = events.filter(({ reason }) => reason === 'Started')
  expect(starts.map(({ count }) => count)).toEqual([1])
  const made = (await fleet.audit.writesOf(namespace)).filter(({ verb, code }) => verb === 'create' && code < 300)
  expect(made.map(({ resource }) => resource).filter(resource => resource === 'pods')).toHaveLength(1)
  expect(made).toHaveLength(8)
  wave.printResult('kill on a real node', {
    point,
    takeoverMs,
    starts: starts.length,
    connections: followed.connections,
  })
  await fleet.ready()
  await wave.expectNothingLeft(fleet, [user])
})
