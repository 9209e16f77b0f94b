/** SIGTERM to the owner of operations at every kind of step: handed over within a second, and the process ends. */
import { expect, test } from 'vitest'
import { startFleet } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import { allPoints } from './points.ts'
import * as wave from './wave.ts'

const draining = 0
const heirs = [1, 2]
/** As promised for a clean hand-over. */
const promisedMs = 1000
const drainSeconds = 15

const chosen = /^lab\.(create\.make\.(namespace|secret|pod)|delete\.(pod|namespace))\./
const points = () => allPoints().filter(({ name }) => chosen.test(name))

test('operations that act and operations that wait go on elsewhere within a second', async context => {
  const config = { ...wave.waveFleet.config, times: { drainSeconds } }
  const fleet = await startFleet(context, { ...wave.waveFleet, config })
  await Promise.all(heirs.map(index => fleet.kill(index)))
  // These wait for a node that has room.
  const waiting = Array.from({ length: 4 }, () => fleet.user())
  const url = fleet.url(draining)
  for (const user of waiting) {
    expect((await user.at(url).create(wave.hugeOptions)).status).toBe(303)
    const stream = await user.at(url).events()
    for await (const { data } of stream) if (data.includes('no room')) break
    await stream.close()
  }
  const struck = await wave.hold(fleet, points(), [draining])
  const open = await Promise.all(waiting.map(user => user.at(url).events()))
  const read = open.map(async stream => {
    const events = []
    for await (const event of stream) events.push(event)
    return { events, broken: stream.broken() }
  })
  await Promise.all(heirs.map(index => fleet.start(index)))
  const { ended } = fleet.replica(draining)
  const toldAtMs = Date.now()
  const drained = ended.then(code => ({ code, ms: Date.now() - toldAtMs }))
  const gone = fleet.kill(draining, 'SIGTERM')
  await eventually('draining', async () => (await wave.logged(fleet, draining, 'draining')).length > 0)
  for (const { arm } of struck) arm.release()

  await Promise.all(struck.map(each => wave.expectEnded(fleet, each)))
  await gone
  // What had nothing left to wait for has ended where it was.
  const endedThere = new Set((await wave.logged(fleet, draining, 'operation ended')).map(({ line }) => line.op))
  const resumed = await wave.resumptions(fleet, toldAtMs)
  const handedOver = (await Promise.all(struck.map(async ({ user, ended }) => ({ user, op: (await ended).op }))))
    .filter(({ op }) => !endedThere.has(op))
    .map(({ user }) => user)
  const handovers = [...handedOver, ...waiting].map(({ username }) => ({
    username,
    ms: (resumed.get(username) ?? Number.POSITIVE_INFINITY) - toldAtMs,
  }))
  wave.printTakeovers('term', struck, handovers)
  expect(handedOver.length).toBeGreaterThan(struck.length / 2)
  expect(handovers.filter(({ ms }) => ms > promisedMs)).toEqual([])
  wave.printResult('drain', await drained)
  expect(await drained).toMatchObject({ code: 0 })
  expect((await drained).ms).toBeLessThan(drainSeconds * 1000)

  const users = [...struck.map(({ user }) => user), ...waiting]
  const deleted = wave.expectNothingLeft(fleet, users)
  for (const [i, { events, broken }] of (await Promise.all(read)).entries()) {
    expect(broken).toBe(false)
    const rest = await waiting[i]!.follow({ lastEventId: events.at(-1)!.id! })
    expect(rest.events.at(-1)).toMatchObject({ event: 'failed', data: expect.stringContaining('superseded') })
  }
  await deleted
}, 120_000)
