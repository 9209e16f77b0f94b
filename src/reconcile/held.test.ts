import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import type { TaskLease } from '../leases/leases.ts'
import { type Held, Holding } from './held.ts'

const silence = new RetryLater('Redis does not answer')

let clock: ManualClock
let holding: Holding
/** Answers of Redis that are still to come, in the order of the questions. */
let asked: PromiseWithResolvers<TaskLease | null>[]
let released: string[]
let defects: unknown[]

beforeEach(() => {
  clock = new ManualClock()
  holding = new Holding(clock)
  asked = []
  released = []
  defects = []
})

const lease = (token: string): TaskLease => ({ token, release: async () => void released.push(token) })

/** Begins to take a lease. The result is in `held` when it is there. */
function take(isPatient = true): { held: Held | undefined } {
  const taken: { held: Held | undefined } = { held: undefined }
  const acquire = () => {
    const answer = Promise.withResolvers<TaskLease | null>()
    asked.push(answer)
    return answer.promise
  }
  const onDefect = (error: unknown) => defects.push(error)
  void holding.heldSoon(acquire, { isPatient, onDefect }).then(held => {
    taken.held = held
  })
  return taken
}

async function pass(ms: number) {
  clock.advance(ms)
  for (let i = 0; i < 20; i += 1) await Promise.resolve()
}

/** Redis does not answer in time; the question is still open. */
async function silent() {
  take()
  await pass(1_000)
}

describe('Holding', () => {
  test('gives the lease, or tells that another has it', async () => {
    const [one, two] = [take(), take()]
    asked[0]!.resolve(lease('one'))
    asked[1]!.resolve(null)
    await pass(0)
    expect([one.held, two.held]).toEqual([expect.objectContaining({ token: 'one' }), 'refused'])
  })

  test.each([
    [true, 1_000],
    [false, 250],
  ])('waits for an answer, if it is patient (%s) for %i ms, and gives back what comes later', async (isPatient, ms) => {
    const late = take(isPatient)
    await pass(ms - 1)
    expect(late.held).toBeUndefined()
    await pass(1)
    expect(late.held).toBe('silent')
    asked[0]!.resolve(lease('late'))
    await pass(0)
    expect(released).toEqual(['late'])
  })

  test('neither asks nor waits for a revocation while a question has no answer', async () => {
    await silent()
    const more = [take(false), take(false)]
    await pass(0)
    expect([more.map(({ held }) => held), asked.length]).toEqual([['silent', 'silent'], 1])
  })

  test('waits less for a patient turn while Redis is silent', async () => {
    await silent()
    const patient = take()
    await pass(249)
    expect([patient.held, asked.length]).toEqual([undefined, 2])
    await pass(1)
    expect(patient.held).toBe('silent')
  })

  test('asks again for a revocation after the time-out, without waiting, and gives that lease back', async () => {
    await silent()
    asked[0]!.reject(silence)
    await pass(0)
    const [first, beside] = [take(false), take(false)]
    await pass(0)
    expect([first.held, beside.held, asked.length]).toEqual(['silent', 'silent', 2])
    asked[1]!.resolve(lease('first'))
    await pass(0)
    const next = take(false)
    await pass(0)
    expect([released, next.held, asked.length]).toEqual([['first'], undefined, 3])
  })

  test('waits again after an answer that came late', async () => {
    await silent()
    asked[0]!.resolve(null)
    await pass(0)
    const next = take(false)
    await pass(249)
    expect([next.held, asked.length]).toEqual([undefined, 2])
  })

  test('does not call a defect a silence', async () => {
    const one = take()
    asked[0]!.reject(new TypeError('a defect'))
    await pass(0)
    take()
    take()
    await pass(0)
    expect([one.held, defects.length, asked.length]).toEqual(['silent', 1, 3])
  })

  test('waits once for a lease that is not taken back', async () => {
    const kept: TaskLease = { token: 'kept', release: () => new Promise(() => {}) }
    let ends = 0
    const giveBack = () => void holding.giveBack(kept).then(() => (ends += 1))
    giveBack()
    await pass(249)
    expect(ends).toBe(0)
    await pass(1)
    giveBack()
    await pass(0)
    expect(ends).toBe(2)
  })
})
