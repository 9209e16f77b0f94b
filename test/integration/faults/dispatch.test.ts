/** Attacks on the dispatch, without a cluster: `npm run faults -- --only dispatch`. */
import { attack } from '../../kit/attack/attack.ts'
import { controlVariable } from '../../kit/program/controls.ts'
import { runHistory } from '../../kit/runner/histories.ts'
import { isWhole } from './points.ts'

/** A control ends with the first violation. */
const histories = isWhole || process.env[controlVariable] ? 40 : 1
/** Of histories. About one in fifteen has no stale start, and proves nothing: another one follows. */
const most = histories + 9

attack('dispatch V1 random histories of two machines', async trial => {
  const controls = process.env[controlVariable] ?? ''
  let [made, blows, begins] = [0, 0, 0]
  while (made < histories || (blows === 0 && made < most)) {
    const { violations, refused, ...found } = await runHistory({ steps: 40, random: trial.random, controls })
    for (const violation of violations) trial.violation(violation)
    // A stale start was sent, and was refused.
    const stale = refused.epoch + refused.run
    trial.injected(stale)
    trial.landed(stale)
    made += 1
    blows += stale
    begins += found.begins
    if (violations.length > 0) break
  }
  trial.figure('begins', begins)
  trial.figure('histories', made)
})
