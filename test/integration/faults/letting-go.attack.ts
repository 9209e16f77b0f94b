/** The draining owner dies after its last commit, before it returns its leases. */
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { allPoints, isWhole } from './points.ts'
import * as wave from './wave.ts'

const draining = 0
const heirs = [1, 2]
const last = /^lab\.(create\.make\.service|delete\.pod)\.after-commit$/

/** Other replicas take over when the leases expire, and continue after the last commit. */
async function killBeforeRelease(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(wave.waveFleet)
  await Promise.all(heirs.map(index => fleet.kill(index)))
  const points = allPoints().filter(({ name }) => last.test(name))
  trial.injected(points.length)
  const struck = await wave.hold(fleet, points, [draining])
  const leaving = struck.map(({ user, point: { name } }) => {
    const kind = name.split('.')[1]
    return fleet.arm(`lab.${kind}.release.before-act`, 'hold', { user: user.username })
  })
  await Promise.all(heirs.map(index => fleet.start(index)))
  const { pid } = fleet.replica(draining)
  const gone = fleet.kill(draining, 'SIGTERM')
  for (const { arm } of struck) arm.release()
  const marks = await Promise.all(leaving.map(arm => arm.landed()))
  const killedAtMs = Date.now()
  process.kill(pid, 'SIGKILL')
  await gone
  trial.landed(marks.filter(mark => mark.pid === pid).length)
  await Promise.all(struck.map(each => wave.expectEnded(fleet, each)))
  const taken = await wave.takeovers(fleet, struck, killedAtMs)
  wave.expectInTime(trial, taken)
  await wave.expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
}

if (isWhole) attack('T1 kill -9 after the last commit, before the release', killBeforeRelease, { concurrent: true })
