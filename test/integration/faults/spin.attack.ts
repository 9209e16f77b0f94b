/** An owner's event loop is blocked beyond its lease: it cannot act meanwhile, and must not act afterwards. */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import { verdicts } from './stale.ts'
import * as wave from './wave.ts'

const blockMs = 2 * wave.ttlMs
/** Before and after the last check of the lease; before a script. */
const all = ['make.pod.before-act', 'make.pod.before-send', 'make.pod.before-commit', 'finish.before-commit']
const points = (isWhole ? all : all.slice(1, 2)).map(place => `lab.create.${place}`)

/** Time from the end of the block until the owner gave up the operation. */
async function block(trial: Trial, fleet: Fleet, point: string): Promise<number> {
  const user = fleet.user()
  const arm = fleet.arm(point, 'spin', { user: user.username, ms: blockMs })
  expect((await user.at(fleet.anyUrl()).create()).status).toBe(303)
  const { replica, atMs } = await arm.landed()
  const blocked = fleet.indexOf(replica)
  const { op, outcome } = await user.at(fleet.url((blocked + 1) % fleet.size)).follow()
  expect([point, outcome]).toEqual([point, 'complete'])
  const resumedAtMs = (await wave.resumptions(fleet, atMs)).get(user.username)!
  wave.expectInTime(trial, [{ ms: resumedAtMs - atMs }])
  // Another replica can have continued only if the loop was blocked for so long.
  if (resumedAtMs < atMs + blockMs) trial.landed()
  const gaveUp = async () => (await verdicts(fleet, blocked, atMs)).get(op)
  const reason = await eventually(`the owner giving up at ${point}`, gaveUp)
  expect([point, reason]).toEqual([point, expect.stringMatching(/lease is lost|moved on/)])
  const line = (await wave.logged(fleet, blocked, 'operation is no longer ours')).find(each => each.line.op === op)!
  return line.atMs - (atMs + blockMs)
}

async function blockOwners(trial: Trial): Promise<void> {
  const { leaseTtlMs, scanIntervalMs } = wave.waveFleet.config.engine
  const fleet = await trial.fleet({ config: { engine: { leaseTtlMs, scanIntervalMs } } })
  const latencies: number[] = []
  for (const point of points) {
    trial.injected()
    latencies.push(await block(trial, fleet, point))
  }
  trial.figure('blockMs', blockMs)
  trial.figure('abortLatencyMs', Math.max(...latencies))
}

attack('T5 event loop blocked past the lease', blockOwners, { concurrent: true })
