/** The worst moments without a step of their own: a compare, and a creation that a deletion supersedes. */
import { attack } from '../../kit/attack/attack.ts'
import { killComparer, stopComparer } from './comparing.ts'
import { isWhole } from './points.ts'
import { strikeSuperseded } from './superseding.ts'
import { waveFleet } from './wave.ts'

const { leaseTtlMs, scanIntervalMs } = waveFleet.config.engine
const engine = { leaseTtlMs, scanIntervalMs }
const options = { config: { engine } }
/** A write held on the wire must not end by its own deadline. */
const patient = { config: { engine, kubernetes: waveFleet.config.kubernetes } }
const together = { concurrent: true }

attack('T1 kill -9 in the middle of a compare', trial => killComparer(trial, options), together)
attack('T1 kill -9 while superseding', trial => strikeSuperseded(trial, 'SIGKILL', patient), together)
if (isWhole) {
  attack('T3 stop in the middle of a compare', trial => stopComparer(trial, options), together)
  attack('T3 stop while superseding', trial => strikeSuperseded(trial, 'SIGSTOP', patient), together)
}
