/** SIGTERM to the owner of operations at every kind of step: it hands them over within a second, and exits. */
import { expect } from 'vitest'
import type { LabEvent } from '../../../src/base/domain.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { allPoints } from './points.ts'
import * as wave from './wave.ts'

const draining = 0
const heirs = [1, 2]
/** The promise for a clean hand-over. */
const promisedMs = 1000
const drainSeconds = 15

const chosen =
  /^lab\.(create\.make\.(namespace|content|secret|pod)|delete\.(pod|namespace))\.(before-act|after-act|after-commit)$/
const points = () => allPoints().filter(({ name }) => chosen.test(name))

/** Users whose labs wait for a node with room. */
async function waitForRoom(fleet: Fleet): Promise<readonly Client[]> {
  const waiting = Array.from({ length: 4 }, () => fleet.user())
  const url = fleet.url(draining)
  for (const user of waiting) {
    expect((await user.at(url).create(wave.hugeOptions)).status).toBe(303)
    const stream = await user.at(url).events()
    for await (const { data } of stream) if (data.includes('no room')) break
    await stream.close()
  }
  return waiting
}

/** Reads the users' events from the draining replica. Returns a check that cut-off streams continue elsewhere. */
async function readThere(fleet: Fleet, users: readonly Client[]): Promise<() => Promise<void>> {
  const streams = await Promise.all(users.map(user => user.at(fleet.url(draining)).events()))
  const read = streams.map(async stream => {
    const events: LabEvent[] = []
    for await (const event of stream) events.push(event)
    return { events, broken: stream.broken() }
  })
  return async () => {
    for (const [i, { events, broken }] of (await Promise.all(read)).entries()) {
      expect(broken).toBe(false)
      const rest = await users[i]!.follow({ lastEventId: events.at(-1)!.id! })
      expect(rest.events.at(-1)).toMatchObject({ event: 'failed', data: expect.stringContaining('superseded') })
    }
  }
}

/** Users whose operation could not end at its owner, since it had to wait for something. */
async function handedOver(fleet: Fleet, struck: readonly wave.Struck[]): Promise<readonly Client[]> {
  const endedThere = new Set((await wave.logged(fleet, draining, 'operation ended')).map(({ line }) => line.op))
  const all = await Promise.all(struck.map(async ({ user, ended }) => ({ user, op: (await ended).op })))
  return all.filter(({ op }) => !endedThere.has(op)).map(({ user }) => user)
}

/** Acting and waiting operations continue on another replica. */
async function terminate(trial: Trial): Promise<void> {
  const config = { ...wave.waveFleet.config, times: { drainSeconds } }
  const fleet = await trial.fleet({ ...wave.waveFleet, config })
  await Promise.all(heirs.map(index => fleet.kill(index)))
  const waiting = await waitForRoom(fleet)
  const struck = await wave.hold(fleet, points(), [draining])
  const expectContinued = await readThere(fleet, waiting)
  await Promise.all(heirs.map(index => fleet.start(index)))
  const { ended } = fleet.replica(draining)
  trial.injected(struck.length + waiting.length)
  const toldAtMs = Date.now()
  const drained = ended.then(code => ({ code, ms: Date.now() - toldAtMs }))
  const gone = fleet.kill(draining, 'SIGTERM')
  // The replica drains while all operations are held, or wait.
  await eventually('a draining owner', async () => (await wave.logged(fleet, draining, 'draining')).length > 0)
  trial.landed(struck.length + waiting.length)
  for (const { arm } of struck) arm.release()

  await Promise.all(struck.map(each => wave.expectEnded(fleet, each)))
  await gone
  const resumed = await wave.resumptions(fleet, toldAtMs)
  const handed = await handedOver(fleet, struck)
  const handovers = [...handed, ...waiting].map(({ username }) => ({
    username,
    ms: (resumed.get(username) ?? Number.POSITIVE_INFINITY) - toldAtMs,
  }))
  trial.figure('handed_over', handovers.length)
  trial.figure('drain_ms', (await drained).ms)
  expect(handed.length).toBeGreaterThan(struck.length / 2)
  wave.expectInTime(trial, handovers, promisedMs)
  expect(await drained).toMatchObject({ code: 0 })
  expect((await drained).ms).toBeLessThan(drainSeconds * 1000)

  const users = [...struck.map(({ user }) => user), ...waiting]
  await Promise.all([wave.expectNothingLeft(fleet, users), expectContinued()])
}

attack('T20 SIGTERM at every kind of step', terminate)
