/** kill -9 of the owner at every step of creations and deletions. */
import { expect } from 'vitest'
import { together } from '../../../dev/process/command.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { isWhole, type Point, pointsToStrike } from './points.ts'
import {
  askAgain,
  expectEnded,
  expectInTime,
  expectNothingLeft,
  fullLabFleet,
  hold,
  type Struck,
  takeovers,
  waveFleet,
} from './wave.ts'

/** As many operations as one replica may own when it dies. */
const waveSize = 48

interface Sides {
  readonly owners: readonly number[]
  readonly heirs: readonly number[]
}

/** Kills the owners of these operations. Heirs start later. */
async function strike(trial: Trial, fleet: Fleet, points: readonly Point[], { owners, heirs }: Sides) {
  trial.injected(points.length)
  const struck = await hold(fleet, points, owners)
  const victims = owners.map(index => fleet.replica(index).pid)
  await Promise.all(heirs.map(index => fleet.start(index)))
  const killedAtMs = Date.now()
  await Promise.all(owners.map(index => fleet.kill(index)))
  await Promise.all(struck.map(each => askAgain(fleet, each)))
  await Promise.all(struck.map(each => expectEnded(fleet, each)))
  trial.landed(struck.filter(({ arm }) => victims.includes(arm.marks()[0]!.pid)).length)
  return { struck, taken: await takeovers(fleet, struck, killedAtMs) }
}

/** Each operation is taken over in time, ends as it should, and makes each object once. */
async function killAt(trial: Trial, points: readonly Point[], options: FleetOptions): Promise<void> {
  const fleet = await trial.fleet({ ...options, replicas: 4 })
  let sides: Sides = { owners: [0, 1], heirs: [2, 3] }
  await Promise.all(sides.heirs.map(index => fleet.kill(index)))
  const struck: Struck[] = []
  const taken: Awaited<ReturnType<typeof takeovers>> = []
  for (let i = 0; i < points.length; i += waveSize) {
    const wave = await strike(trial, fleet, points.slice(i, i + waveSize), sides)
    struck.push(...wave.struck)
    taken.push(...wave.taken)
    sides = { owners: sides.heirs, heirs: sides.owners }
  }
  expect(struck.map(({ point }) => point)).toEqual(points)
  expectInTime(trial, taken)
  await expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
}

/** Full labs are twice the work: a run that is not whole uses them only for creations. */
async function killEverywhere(trial: Trial): Promise<void> {
  const points = pointsToStrike()
  const plain = isWhole ? [] : points.filter(point => point.story !== 'create')
  const ofFullLabs = points.filter(point => !plain.includes(point))
  const killFullLabs = async () => killAt(trial, ofFullLabs, await fullLabFleet(trial, 2 * ofFullLabs.length))
  await together(killFullLabs(), plain.length > 0 ? killAt(trial, plain, waveFleet) : undefined)
}

attack('T1 kill -9 at each step', killEverywhere, { limitMs: 360_000 })
