import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import { RetryLater } from '../../base/errors.ts'
import type { PolicyAnswer } from './probes.ts'
import { AdmissionWatch } from './watch.ts'

const words = {
  ...{ unknown: 'an answer', notActive: 'not at work', active: 'at work' },
  ...{ refuses: 'other settings', later: 'later', remedy: 'apply it' },
}
const well: PolicyAnswer = { active: true, reason: null, missing: [] }
const missing: PolicyAnswer = { active: false, reason: 'no policy', missing: [] }
const withoutRights: PolicyAnswer = { active: null, reason: 'may not ask', missing: [] }

let clock: ManualClock
let answer: PolicyAnswer | undefined
let watch: AdmissionWatch
/** Refusals, and those that last, at each answer. */
let told: (readonly [string | undefined, string | undefined])[]

beforeEach(() => {
  clock = new ManualClock()
  told = []
  const onAnswer = () => void told.push([watch.refusal, watch.lastingRefusal])
  const ask = async () => {
    if (answer === undefined) throw new RetryLater('away')
    return answer
  }
  const common = { clock, log: keepingLog(), intervalMs: 1_000, required: true, onAnswer }
  watch = new AdmissionWatch({ ...common, ask, words })
})
afterEach(() => watch.stop())

async function pass(ms: number) {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(100)
    await new Promise(resolve => setImmediate(resolve))
  }
}

test('AdmissionWatch refuses at once, and calls that lasting when it finds the same again', async () => {
  answer = missing
  watch.start()
  await pass(100)
  expect(told).toEqual([['not at work (no policy)', undefined]])
  await pass(6_000)
  expect(told.at(-1)).toEqual(['not at work (no policy)', 'not at work (no policy)'])
  answer = well
  await pass(3_000)
  expect([watch.refusal, watch.lastingRefusal]).toEqual([undefined, undefined])
})

test('AdmissionWatch never calls lasting what is over at the next check, however often it comes', async () => {
  watch.start()
  for (const next of [withoutRights, well, withoutRights, well]) {
    answer = next
    await pass(1_200)
  }
  expect(told.filter(([refusal]) => refusal !== undefined).length).toBeGreaterThan(1)
  expect(told.filter(([, lasting]) => lasting !== undefined)).toEqual([])
})

test('AdmissionWatch counts no silence of the API server as a check', async () => {
  answer = missing
  watch.start()
  await pass(100)
  answer = undefined
  await pass(20_000)
  expect([watch.refusal, watch.lastingRefusal]).toEqual(['not at work (no policy)', undefined])
  answer = missing
  await pass(3_000)
  expect(watch.lastingRefusal).toBe('not at work (no policy)')
})

test('AdmissionWatch refuses nothing when no policy is required', async () => {
  const common = { clock, log: keepingLog(), intervalMs: 1_000, required: false, words }
  const other = new AdmissionWatch({ ...common, ask: async () => missing })
  other.start()
  await pass(10_000)
  await other.stop()
  expect([other.refusal, other.lastingRefusal]).toEqual([undefined, undefined])
})
