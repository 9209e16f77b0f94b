/** kill -9 of the owner at every step of creations and deletions. */
import { expect, type TestContext, test } from 'vitest'
import { startFleet } from '../harness/fleet.ts'
import { allPoints, type Point } from './points.ts'
import { expectEnded, expectNothingLeft, hold, printTakeovers, promisedMs, takeovers, waveFleet } from './wave.ts'

const owners = [0, 1]
const heirs = [2, 3]

async function killEveryOwner(context: TestContext, points: readonly Point[]): Promise<void> {
  const fleet = await startFleet(context, { ...waveFleet, replicas: 4 })
  await Promise.all(heirs.map(index => fleet.kill(index)))
  const struck = await hold(fleet, points, owners)
  const victims = owners.map(index => fleet.replica(index).pid)
  await Promise.all(heirs.map(index => fleet.start(index)))
  const killedAtMs = Date.now()
  await Promise.all(owners.map(index => fleet.kill(index)))
  await Promise.all(struck.map(each => expectEnded(fleet, each)))
  for (const { point, arm } of struck) expect([point, victims.includes(arm.marks()[0]!.pid)]).toEqual([point, true])
  const taken = await takeovers(fleet, struck, killedAtMs)
  printTakeovers('kill', struck, taken)
  expect(taken.filter(({ ms }) => ms > promisedMs)).toEqual([])
  const users = struck.map(({ user }) => user)
  await expectNothingLeft(fleet, users)
}

const isCreation = ({ story }: Point) => story === 'create'

test('at every step of a creation', context => killEveryOwner(context, allPoints().filter(isCreation)), 120_000)

test('at every step of a deletion, of making way and of cleaning up', context => {
  const points = allPoints().filter(point => !isCreation(point))
  return killEveryOwner(context, points)
}, 120_000)
