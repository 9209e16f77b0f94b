/** idle K8: a third of all labs hang. The others are checked as often as before; the hung wait for each other. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { isWhole } from '../points.ts'
import { calm, checksOf, type IdleLab, idleFleet, pause, rule, startFake, startLab, untilMustered } from './labs.ts'

const [hungCount, wellCount] = isWhole ? [30, 70] : [12, 6]
const atOnce = 25
const periodMs = 1_000
/** Beyond a period, as the design promises; at the onset all are in one lane for the time of a look. */
const lateLimitMs = 2_000
const onsetMs = 10_000
const watchMs = isWhole ? 30_000 : 6_000

const longest = (labs: readonly IdleLab[], fromMs: number, untilMs: number): number =>
  Math.max(
    ...labs.map(lab => {
      const times = [fromMs, ...checksOf(lab).filter(atMs => atMs > fromMs && atMs < untilMs), untilMs]
      return Math.max(...times.slice(1).map((atMs, i) => atMs - times[i]!))
    }),
  )

async function manyHang(trial: Trial): Promise<void> {
  // Few places, so that the hung could take all of them.
  const room = { room: isWhole ? 4 : 2, slowRoom: isWhole ? 2 : 1 }
  const users = hungCount + wellCount + 1
  const fleet = await trial.fleet(idleFleet([rule({ idleTimeoutSeconds: 3600 })], room, { users }))
  const [well, hung] = await Promise.all([startFake(trial), startFake(trial)])
  const working = { kernels: [{ state: 'busy', lastMs: 0 }] }
  for (const fake of [well, hung]) fake.behave(working)
  const labs: IdleLab[] = []
  const fakes = [...Array(hungCount).fill(hung), ...Array(wellCount).fill(well)]
  for (let i = 0; i < fakes.length; i += atOnce) {
    labs.push(...(await Promise.all(fakes.slice(i, i + atOnce).map(fake => startLab(trial, fleet, { fake })))))
  }
  await untilMustered(fleet, labs)
  const others = labs.slice(hungCount)
  await pause(3_000)
  const restMs = Date.now()
  trial.figure('longestBeforeMs', longest(others, restMs - 2_500, restMs))
  trial.injected(hungCount)
  hung.behave('hang')
  await pause(onsetMs)
  const begunMs = Date.now()
  const onset = longest(others, restMs, begunMs)
  await pause(watchMs)
  const late = longest(others, begunMs, Date.now())
  trial.landed(labs.slice(0, hungCount).filter(lab => checksOf(lab).some(atMs => atMs > restMs)).length)
  trial.figure('longestAtOnsetMs', onset)
  trial.figure('longestMs', late)
  if (onset > onsetMs) trial.violation(`a lab that answers waited ${onset} ms at the onset`)
  if (late > periodMs * 1.05 + lateLimitMs) trial.violation(`a lab that answers waited ${late} ms for its check`)
  calm([{ fake: well }, { fake: hung }])
}

attack('idle K8 many that hang', manyHang, { limitMs: 400_000, concurrent: !isWhole })
