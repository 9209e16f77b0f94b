import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../domain.ts'
import { RetryLater } from '../errors.ts'
import { type CallOptions, KubeError } from '../kube/client.ts'
import { ManualClock } from '../kube/testing/clock.ts'
import { keepingLog } from '../kube/testing/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { askForPolicy, PolicyWatch } from './policy.ts'

const refused = (words: string) => new KubeError(403, 'Forbidden', `configmaps "skylab-policy-probe" is ${words}`)
const byPolicy = refused("forbidden: ValidatingAdmissionPolicy 'skylab' with binding 'skylab' denied request: no lab")
const byAnother = refused("forbidden: ValidatingAdmissionPolicy 'skylab-2' with binding 'b' denied request: no lab")
const byRights = refused('forbidden: User "system:serviceaccount:skylab:skylab" cannot create resource "configmaps"')
const away = new RetryLater('Kubernetes does not answer for now')

/** Answers creates with these, the last one for ever. */
function fakeKube(...answers: (Error | 'accepted')[]) {
  const asked: { object: KubeObject; options: CallOptions }[] = []
  const create = async (object: KubeObject, options: CallOptions = {}) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push({ object, options })
    if (answer !== 'accepted') throw answer
    return object
  }
  return { asked, create }
}

describe('askForPolicy', () => {
  it('asks by a write that would change nothing, under a name of its own', async () => {
    const kube = fakeKube(byPolicy)
    await askForPolicy({ kube, installation: 'i' })
    expect(kube.asked).toMatchObject([{ options: { dryRun: true, agent: 'policy' } }])
    expect(kube.asked[0]!.object.metadata).toMatchObject({ namespace: 'default', labels: { 'skylab/op': '1' } })
  })

  it('believes only in what is refused by this very policy', async () => {
    const ask = (answer: Error | 'accepted') => askForPolicy({ kube: fakeKube(answer), installation: 'i' })
    expect(await ask(byPolicy)).toBeNull()
    expect(await ask('accepted')).toContain('was accepted')
    for (const error of [byAnother, byRights, new KubeError(422, 'Invalid', byPolicy.message)]) {
      expect(await ask(error)).toBe(error.message)
    }
    await expect(ask(away)).rejects.toBe(away)
  })
})

describe('PolicyWatch', () => {
  let watch: PolicyWatch | undefined

  afterEach(() => watch?.stop())

  function start(...answers: (Error | 'accepted')[]) {
    const [kube, clock, log, metrics] = [
      fakeKube(...answers),
      new ManualClock(),
      keepingLog(),
      createMetrics(new Registry()),
    ]
    const options = { kube, clock, metrics, installation: 'i', intervalMs: 1000 }
    watch = new PolicyWatch({ ...options, log })
    watch.start()
    const gauge = async () => (await metrics.admissionPolicyActive.get()).values[0]?.value
    const round = async () => {
      await clock.sleepBetween(900, 1100)
      return [await gauge(), log.messages.splice(0)]
    }
    return { round, next: () => clock.advance(1100) }
  }

  const missing = 'warn: the admission policy is not at work: apply k8s/base/policy.yaml'

  it('tells each change once, and the metric what is so', async () => {
    const { round, next } = start('accepted', byRights, byPolicy, byPolicy, 'accepted')
    const told = []
    for (let i = 0; i < 5; i++) {
      told.push(await round())
      next()
    }
    expect(told).toEqual([
      [0, [missing]],
      [0, []],
      [1, ['info: the admission policy is at work']],
      [1, []],
      [0, [missing]],
    ])
  })

  it('an API server that does not answer changes nothing', async () => {
    const { round, next } = start(byPolicy, away, byPolicy)
    expect(await round()).toEqual([1, ['info: the admission policy is at work']])
    next()
    expect(await round()).toEqual([1, ['debug: the admission policy is asked for later']])
    next()
    expect(await round()).toEqual([1, []])
  })
})
