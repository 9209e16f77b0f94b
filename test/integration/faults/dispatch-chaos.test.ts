/**
 * Arvados' chaos, over real SSH: many short containers on a cloud that fails, with machines that are broken, while one replica
 * after another is killed. In full size, the same without kills says what
 * the kills cost.
 */
import { test } from 'vitest'
import { attack } from '../../kit/attack/attack.ts'
import { whyNoVms } from '../../kit/cloud/cloud.ts'
import { runChaos } from './dispatch/chaos.ts'
import { isWhole } from './points.ts'

const reason = whyNoVms()
const containers = isWhole ? 200 : 40
const mostRatio = 1.5

if (reason !== null) test.skip(`dispatch chaos, which cannot run here: ${reason}`)
else
  attack(
    'dispatch V1 V2 V3 chaos on EC2',
    async trial => {
      const seconds = Array.from({ length: containers }, () => Number((0.05 + 0.45 * trial.random()).toFixed(2)))
      trial.figure('containers', containers)
      // In a small run one kill more or less would decide the time.
      const calm = isWhole ? await runChaos(trial, { seconds, kills: false }) : undefined
      const killed = await runChaos(trial, { seconds, kills: true })
      if (calm === undefined) return
      const ratio = Number((killed / calm).toFixed(2))
      trial.figure('ratio', ratio)
      if (ratio > mostRatio) trial.violation(`kills cost too much: ${ratio} times the run without them`)
    },
    { limitMs: isWhole ? 900_000 : 300_000 },
  )
