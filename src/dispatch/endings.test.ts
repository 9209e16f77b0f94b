import { expect, test } from 'vitest'
import { bootOutcomeOf, creationFailed, endedByCloud } from './endings.ts'

test.each([
  ['failure', ['boot', 'broken', 'unreachable', creationFailed]],
  ['aborted', ['idle', 'room', 'drain', 'type', 'an operator ends it']],
  ['disappeared', [endedByCloud]],
])('bootOutcomeOf is %s when a machine that was never ready ends for %j', (outcome, endings) => {
  for (const ending of endings) expect(bootOutcomeOf(ending)).toBe(outcome)
})
