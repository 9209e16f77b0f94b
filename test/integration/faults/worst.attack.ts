/** The worst moments that have no step of their own: a compare, and a creation that a deletion takes the place of. */
import { attack } from '../../kit/attack/attack.ts'
import { killWhoCompares, stopWhoCompares } from './comparing.ts'
import { isWhole } from './points.ts'
import { strikeSuperseded } from './superseding.ts'
import { waveFleet } from './wave.ts'

const { leaseTtlMs, scanIntervalMs } = waveFleet.config.engine
const engine = { leaseTtlMs, scanIntervalMs }
const options = { config: { engine } }
/** A write that is held on the wire is not to end by its deadline. */
const patient = { config: { engine, kubernetes: waveFleet.config.kubernetes } }
const together = { concurrent: true }

attack('T1 kill -9 in the middle of a compare', trial => killWhoCompares(trial, options), together)
attack('T1 kill -9 while superseding', trial => strikeSuperseded(trial, 'SIGKILL', patient), together)
if (isWhole) {
  attack('T3 stop in the middle of a compare', trial => stopWhoCompares(trial, options), together)
  attack('T3 stop while superseding', trial => strikeSuperseded(trial, 'SIGSTOP', patient), together)
}
