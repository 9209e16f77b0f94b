/** idle K12: a time-out of a second makes every lab idle at once. No more are stopped within any minute than the fuse lets. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { calm, idleFleet, pause, rule, silent, startFake, startLab, untilMustered } from './labs.ts'
import { type Stop, Stops } from './stops.ts'

const labCount = isWhole ? 500 : 12
const stopsPerMinute = isWhole ? 20 : 4
/** A twentieth of all that run, if that is more. */
const fuse = Math.max(stopsPerMinute, Math.floor(labCount / 20))
const atOnce = 25
/** In full size until the third minute lets some more. */
const watchMs = isWhole ? 150_000 : 5_000
/** A minute by Redis' clock, less what lies between the script and the line in a log. */
const minuteMs = 59_500

const mostWithin = (stops: readonly Stop[]): number =>
  Math.max(0, ...stops.map(({ atMs }) => stops.filter(each => each.atMs >= atMs && each.atMs < atMs + minuteMs).length))

async function allAtOnce(trial: Trial): Promise<void> {
  const options = { stopsPerMinute }
  const fleet = await trial.fleet(idleFleet([rule()], options, { users: labCount + 1 }))
  const stops = new Stops(fleet)
  const fake = await startFake(trial)
  fake.behave({ kernels: [{ state: 'busy', lastMs: 0 }] })
  const labs = []
  for (let i = 0; i < labCount; i += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, labCount - i) }, () => startLab(trial, fleet, { fake }))
    labs.push(...(await Promise.all(some)))
  }
  await untilMustered(fleet, labs)
  trial.injected(labs.length)
  fake.behave(silent)
  const wanted = async () => {
    await stops.refresh()
    return new Set(stops.all.map(({ id }) => id))
  }
  await eventually('requests to stop all', async () => (await wanted()).size >= labs.length, 120_000)
  await pause(watchMs)
  trial.landed((await wanted()).size)
  calm([{ fake }])
  const requested = await stops.requested()
  const most = mostWithin(requested)
  trial.figure('stopped', requested.length)
  trial.figure('mostInAMinute', most)
  trial.figure('held', stops.all.filter(({ result }) => result === 'held').length)
  if (most > fuse) trial.violation(`${most} labs were stopped within a minute, and the fuse is ${fuse}`)
  if (most < stopsPerMinute) trial.violation(`the fuse let only ${most} of ${stopsPerMinute}`)
  if (isWhole && requested.length <= fuse) trial.violation('nothing was stopped after the first minute')
}

attack('idle K12 a time-out that makes all idle', allAtOnce, { limitMs: 900_000, concurrent: !isWhole })
