import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { noTracing } from '../telemetry/tracing.ts'
import { DeadlinePassed, isByRefusal, type PhaseHost, runPhase } from './phase.ts'
import { ObjectRefused, type Shape, StartOver, type Step, type StepContext, type StepResult } from './steps.ts'

const did: StepResult = { events: [] }

/** A host that records the calls to it. */
function makeHost() {
  const clock = new ManualClock()
  const log: string[] = []
  const spans: string[] = []
  const host: PhaseHost<Shape> = {
    clock,
    words: { refused: reason => `The cluster refused what the lab needs: ${reason}` },
    spanOf: ({ name }) => ({
      ...noTracing.request(undefined),
      end: ({ error } = {}) => void spans.push(error === undefined ? name : `${name}: ${error}`),
    }),
    context: () => ({}) as StepContext,
    takeTurn: async ({ kind }) => void log.push(`room ${kind}`),
    commit: async (step, _, next) => void log.push(`commit ${step.name}, next ${next.name}`),
    onStep: (step, _, result) => log.push(`${result} ${step.name}`),
    onRefusal: async (step, error) => void log.push(`refused ${step}: ${error.message}`),
  }
  return { host, clock, log, spans }
}

const step = (name: string, run: Step['run'] = async () => did, kind: Step['kind'] = 'act'): Step => ({
  ...{ name, kind, run, progress: 0 },
})
const never = new AbortController().signal
const refusal = (status: number) => new KubeError(status, 'Forbidden', 'no')

/** A step that throws these errors in turn, and then succeeds. */
function failing(...errors: readonly unknown[]): Step['run'] {
  const left = [...errors]
  return async () => {
    if (left.length > 0) throw left.shift()
    return did
  }
}

describe('runPhase', () => {
  it('makes one span per step, however often it is tried, with the error', async () => {
    const { host, clock, spans } = makeHost()
    const steps = [step('a', failing(new RetryLater('busy', 5))), step('b', failing(new NeedsSomeone('too bad')))]
    const run = runPhase(host, steps, '', never)
    run.catch(() => {})
    clock.advance(await clock.sleepBetween(5, 5))
    await expect(run).rejects.toThrow('too bad')
    expect(spans).toEqual(['a', 'b: too bad'])
  })

  it('runs steps in order, each with its slots, and records the next one', async () => {
    const { host, log } = makeHost()
    await runPhase(host, [step('a'), step('b'), step('c', undefined, 'wait')], '', never)
    expect(log).toEqual([
      ...['room act', 'done a', 'commit a, next b'],
      ...['room act', 'done b', 'commit b, next c'],
      ...['room wait', 'done c'],
    ])
  })

  it('returns the result of the last step, and leaves its record to the end of the operation', async () => {
    const { host, log } = makeHost()
    const last: StepResult = { events: [['info', 'The lab is up']] }
    expect(await runPhase(host, [step('a'), step('b', async () => last)], '', never)).toBe(last)
    expect(log.filter(line => line.startsWith('commit'))).toEqual(['commit a, next b'])
  })

  it('begins at the recorded step, or at the first when that is unknown', async () => {
    const steps = [step('a'), step('b'), step('c')]
    const [one, other] = [makeHost(), makeHost()]
    await runPhase(one.host, steps, 'b', never)
    expect(one.log.filter(line => line.startsWith('done'))).toEqual(['done b', 'done c'])
    await runPhase(other.host, steps, 'unknown', never)
    expect(other.log.filter(line => line.startsWith('done'))).toEqual(['done a', 'done b', 'done c'])
  })

  it('records nothing for a step that had nothing to do', async () => {
    const { host, log } = makeHost()
    await runPhase(host, [step('a', async () => 'nothing'), step('b')], '', never)
    expect(log).toEqual(['room act', 'done a', 'room act', 'done b'])
  })

  it('begins anew when a step throws StartOver', async () => {
    const { host, log } = makeHost()
    await runPhase(host, [step('a'), step('b', failing(new StartOver('otherwise')))], 'b', never)
    expect(log.filter(line => !line.startsWith('room'))).toEqual([
      ...['aborted b', 'done a', 'commit a, next b', 'done b'],
    ])
  })

  it('tries a step again after longer and longer pauses', async () => {
    const { host, clock, log } = makeHost()
    const later = () => new RetryLater('busy')
    const phase = runPhase(host, [step('a', failing(...Array.from({ length: 7 }, later)))], '', never)
    for (const pause of [200, 400, 800, 1600, 3200, 5000, 5000]) {
      expect(await clock.sleepBetween(0, 60_000)).toBe(pause)
      clock.advance(pause)
      await new Promise(resolve => setImmediate(resolve))
    }
    await phase
    expect(log).toContain('done a')
  })

  it('waits for as long as the error says', async () => {
    const { host, clock } = makeHost()
    const phase = runPhase(host, [step('a', failing(new RetryLater('busy', 7000)))], '', never)
    expect(await clock.sleepBetween(0, 60_000)).toBe(7000)
    clock.advance(7000)
    await phase
  })

  it.each([403, 404])('treats a refusal (%d) as final only when it lasts', async status => {
    const { host, clock } = makeHost()
    const refuse = async () => {
      throw refusal(status)
    }
    const phase = runPhase(host, [step('a', refuse)], '', never)
    const outcome = expect(phase).rejects.toThrow(/refused what the lab needs/)
    for (let waitedMs = 0; waitedMs <= 10_000; ) {
      const pause = await clock.sleepBetween(0, 60_000)
      waitedMs += pause
      clock.advance(pause)
      await new Promise(resolve => setImmediate(resolve))
    }
    await outcome
    await expect(phase).rejects.toBeInstanceOf(NeedsSomeone)
  })

  it('counts the refusals of each object of an act by themselves', async () => {
    const { host, clock, log } = makeHost()
    // The pauses are 0.2, 0.4, 0.8, 1.6, 3.2 and then 5 s: the last refusal of each object comes less than 10 s after its first.
    const of = (object: string, count: number) =>
      Array.from({ length: count }, () => new ObjectRefused(refusal(403), object))
    const phase = runPhase(host, [step('a', failing(...of('secret', 6), ...of('service', 2)))], '', never)
    for (let left = 8; left > 0; left--) {
      clock.advance(await clock.sleepBetween(0, 60_000))
      await new Promise(resolve => setImmediate(resolve))
    }
    await phase
    expect(log).toContain('done a')
  })

  it('ends an act when one object is refused for too long, whatever is refused between', async () => {
    const { host, clock } = makeHost()
    const names = ['secret', 'service', 'secret', 'service', 'secret', 'service', 'secret', 'service']
    const phase = runPhase(
      host,
      [step('a', failing(...names.map(name => new ObjectRefused(refusal(403), name))))],
      '',
      never,
    )
    const outcome = expect(phase).rejects.toThrow(/refused what the lab needs/)
    for (let left = 6; left > 0; left--) {
      clock.advance(await clock.sleepBetween(0, 60_000))
      await new Promise(resolve => setImmediate(resolve))
    }
    await outcome
  })

  it.each([
    ['for a missing right at once', 'User "x" cannot create resource "pods"', 1, 0],
    ['for any other reason after 2 s', 'no', 5, 3000],
  ])('reports a refusal %s', async (_, words, refusals, afterMs) => {
    const { host, clock, log } = makeHost()
    const many = Array.from({ length: refusals }, () => new KubeError(403, 'Forbidden', words))
    const phase = runPhase(host, [step('a', failing(...many))], '', never)
    let waitedMs = 0
    let toldMs: number | undefined
    for (let left = refusals; left > 0; left--) {
      const pause = await clock.sleepBetween(0, 60_000)
      if (log.includes(`refused a: ${words}`)) toldMs ??= waitedMs
      waitedMs += pause
      clock.advance(pause)
      await new Promise(resolve => setImmediate(resolve))
    }
    await phase
    expect(toldMs).toBe(afterMs)
  })

  it.each([
    ['a refusal', refusal(403), true],
    ['silence', new RetryLater('away'), false],
  ])('remembers whether %s stood in the way at the deadline', async (_, error, isRefused) => {
    const { host, clock } = makeHost()
    const deadline = new AbortController()
    const stand = async () => {
      throw error
    }
    const ended = runPhase(host, [step('a', stand)], '', deadline.signal).catch(thrown => thrown)
    await clock.sleepBetween(0, 60_000)
    deadline.abort(new DeadlinePassed('It took too long'))
    expect(isByRefusal(await ended)).toBe(isRefused)
  })

  it('treats any other refusal as final at once', async () => {
    const { host, log } = makeHost()
    await expect(runPhase(host, [step('a', failing(refusal(422)))], '', never)).rejects.toBeInstanceOf(NeedsSomeone)
    expect(log).toContain('failed a')
  })

  it('rethrows unexpected errors', async () => {
    const { host } = makeHost()
    await expect(runPhase(host, [step('a', failing(new TypeError('a bug')))], '', never)).rejects.toThrow('a bug')
  })

  it('names the last obstacle at the deadline', async () => {
    const { host, clock } = makeHost()
    const deadline = new AbortController()
    const busy = async () => {
      throw new RetryLater('the registry is busy')
    }
    const phase = runPhase(host, [step('a', busy)], '', deadline.signal)
    const outcome = expect(phase).rejects.toThrow('It took too long (at last: the registry is busy)')
    await clock.sleepBetween(0, 60_000)
    deadline.abort(new DeadlinePassed('It took too long'))
    await outcome
    await expect(phase).rejects.toBeInstanceOf(DeadlinePassed)
  })

  it('stops with the signal’s reason, whatever a step throws', async () => {
    const { host, log } = makeHost()
    const controller = new AbortController()
    const run = async () => {
      controller.abort(new Error('handed over'))
      throw new RetryLater('interrupted')
    }
    await expect(runPhase(host, [step('a', run)], '', controller.signal)).rejects.toThrow('handed over')
    expect(log).toContain('aborted a')
  })
})
