/** Attacks on the dispatch, without a cluster: `npm run faults -- --only dispatch`. */
import { attack } from '../../kit/attack/attack.ts'
import { controlVariable } from '../../kit/program/controls.ts'
import { runHistory } from '../../kit/runner/histories.ts'
import { isWhole } from './points.ts'

/** A control ends with the first violation. */
const histories = isWhole || process.env[controlVariable] ? 40 : 1

attack('dispatch V1 random histories of two machines', async trial => {
  const controls = process.env[controlVariable] ?? ''
  let begins = 0
  for (let left = histories; left > 0; left--) {
    const { violations, refused, ...found } = await runHistory({ steps: 40, random: trial.random, controls })
    for (const violation of violations) trial.violation(violation)
    // A stale start was sent, and was refused.
    const stale = refused.epoch + refused.run
    trial.injected(stale)
    trial.landed(stale)
    begins += found.begins
    if (violations.length > 0) break
  }
  trial.figure('begins', begins)
  trial.figure('histories', histories)
})
