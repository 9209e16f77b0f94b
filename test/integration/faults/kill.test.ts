/** kill -9 of the owner at every step of creations and deletions. */
import { expect, test } from 'vitest'
import { type Fleet, startFleet } from '../harness/fleet.ts'
import { type Point, pointsToStrike } from './points.ts'
import {
  expectEnded,
  expectNothingLeft,
  hold,
  printTakeovers,
  promisedMs,
  type Struck,
  takeovers,
  waveFleet,
} from './wave.ts'

/** As many as a replica that dies may well have in its hands. */
const waveSize = 33

/** Strikes the owners of these, who know nothing of their heirs. */
async function strike(fleet: Fleet, points: readonly Point[], owners: readonly number[], heirs: readonly number[]) {
  const struck = await hold(fleet, points, owners)
  const victims = owners.map(index => fleet.replica(index).pid)
  await Promise.all(heirs.map(index => fleet.start(index)))
  const killedAtMs = Date.now()
  await Promise.all(owners.map(index => fleet.kill(index)))
  await Promise.all(struck.map(each => expectEnded(fleet, each)))
  for (const { point, arm } of struck) expect([point, victims.includes(arm.marks()[0]!.pid)]).toEqual([point, true])
  return { struck, taken: await takeovers(fleet, struck, killedAtMs) }
}

test('each operation is taken over in time, ends as it should, and makes each object once', async context => {
  const points = pointsToStrike()
  const fleet = await startFleet(context, { ...waveFleet, replicas: 4 })
  let [owners, heirs] = [
    [0, 1],
    [2, 3],
  ]
  await Promise.all(heirs.map(index => fleet.kill(index)))
  const struck: Struck[] = []
  const taken: Awaited<ReturnType<typeof takeovers>> = []
  for (let i = 0; i < points.length; i += waveSize) {
    const wave = await strike(fleet, points.slice(i, i + waveSize), owners, heirs)
    struck.push(...wave.struck)
    taken.push(...wave.taken)
    ;[owners, heirs] = [heirs, owners]
  }
  printTakeovers('kill', struck, taken)
  expect(struck.map(({ point }) => point)).toEqual(points)
  expect(taken.filter(({ ms }) => ms > promisedMs)).toEqual([])
  await expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
}, 180_000)
