import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import type { KubeObject } from '../domain.ts'
import { RetryLater } from '../errors.ts'
import { type CallOptions, KubeError } from '../kube/client.ts'
import { ManualClock } from '../kube/testing/clock.ts'
import { keepingLog } from '../kube/testing/log.ts'
import { labRights, type RightsRule } from '../labs/rights.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { askForPolicy, type PolicyQuestion, PolicyWatch } from './policy.ts'

const refused = (words: string) => new KubeError(403, 'Forbidden', `configmaps "skylab-policy-probe" is ${words}`)
const byPolicy = (name: string) =>
  refused(`forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: no lab`)
const byRights = refused('forbidden: User "system:serviceaccount:skylab:skylab" cannot create resource "configmaps"')
const away = new RetryLater('Kubernetes does not answer for now')

const config = configSchema.parse({ lab: { annotations: { a: 'b' } } })

type Answer = Error | 'accepted'

/** What the API server answers to each question, and which rights it lists. */
interface Answers {
  readonly late?: Answer
  readonly deletion?: Answer
  readonly elsewhere?: Answer
  readonly own?: Answer
  readonly rights?: readonly RightsRule[]
  readonly incomplete?: boolean
}

const sound: Answers = {
  ...{ late: byPolicy('skylab'), deletion: byPolicy('skylab'), elsewhere: byPolicy('skylab-labs'), own: 'accepted' },
  rights: labRights(config),
}

/** Answers rounds of questions with these, the last ones for ever. */
function fakeKube(...rounds: Answers[]) {
  const asked: { what: string; options: CallOptions }[] = []
  let current: Answers = {}
  const give = (what: string, answer: Answer | undefined, options: CallOptions) => {
    asked.push({ what, options })
    if (answer instanceof Error) throw answer
  }
  const create = async (object: KubeObject, options: CallOptions = {}) => {
    const { name, namespace } = object.metadata
    if (namespace !== undefined) current = { ...sound, ...(rounds.length > 1 ? rounds.shift() : rounds[0]) }
    const question = namespace !== undefined ? 'late' : name.startsWith('nublado-') ? 'own' : 'elsewhere'
    give(`create ${object.kind} ${namespace ?? ''}/${name}`, current[question], options)
    return object
  }
  const request = async (method: string, path: string, body: unknown, options: CallOptions = {}) => {
    if (method === 'DELETE') give(`${JSON.stringify(body)} ${path}`, current.deletion, options)
    return { status: { incomplete: current.incomplete ?? false, resourceRules: current.rights } }
  }
  return { asked, create, request } as never as { asked: typeof asked } & PolicyQuestion['kube']
}

const ask = (answers: Answers) => askForPolicy({ kube: fakeKube(answers), config, namespace: 'skylab' })

describe('askForPolicy', () => {
  it('asks by writes that would change nothing', async () => {
    const kube = fakeKube({})
    expect(await askForPolicy({ kube, config, namespace: 'skylab' })).toEqual({ active: true, reason: null })
    expect(kube.asked.map(({ what }) => what)).toEqual([
      'create ConfigMap default/skylab-policy-probe',
      '{"apiVersion":"v1","kind":"DeleteOptions","dryRun":["All"]} /api/v1/namespaces/skylab',
      'create Namespace /policy-probe',
      'create Namespace /nublado-skylab-policy-probe',
    ])
    for (const { options } of kube.asked) expect(options).toMatchObject({ dryRun: true, agent: 'policy' })
  })

  it.each([
    ['late writes', 'late', 'skylab'],
    ['deletions', 'deletion', 'skylab'],
    ['names of namespaces', 'elsewhere', 'skylab-labs'],
  ] as const)('believes of %s only what is refused by the policy that is for them', async (_, question, policy) => {
    expect(await ask({ [question]: byPolicy(policy) })).toEqual({ active: true, reason: null })
    expect(await ask({ [question]: 'accepted' })).toMatchObject({
      active: false,
      reason: expect.stringContaining('was accepted'),
    })
    for (const error of [byPolicy('other'), byRights, new KubeError(422, 'Invalid', byPolicy(policy).message)]) {
      expect(await ask({ [question]: error })).toEqual({ active: false, reason: error.message })
    }
    await expect(ask({ [question]: away })).rejects.toBe(away)
  })

  it('says when labs of this configuration would be refused', async () => {
    const error = byPolicy('skylab')
    expect(await ask({ own: error })).toEqual({ active: true, reason: expect.stringContaining(error.message) })
    expect(await ask({ own: new KubeError(409, 'AlreadyExists', 'somebody is called so') })).toMatchObject({
      reason: null,
    })
  })

  it('names the rights of labs that the account lacks', async () => {
    const rights = labRights(configSchema.parse({}))
    expect(await ask({ rights })).toEqual({
      active: true,
      reason: 'labs of this configuration may not: use annotations a=b; apply what `skylab rights` prints',
    })
    expect(await ask({ rights: [], incomplete: true })).toMatchObject({ reason: null })
  })

  it('asks for a namespace that begins otherwise than those of labs', async () => {
    const kube = fakeKube({})
    const other = configSchema.parse({ lab: { namespacePrefix: 'policy' } })
    await askForPolicy({ kube, config: other, namespace: 'skylab' })
    expect(kube.asked[2]!.what).toBe('create Namespace /qolicy-probe')
  })
})

describe('PolicyWatch', () => {
  let watch: PolicyWatch | undefined

  afterEach(() => watch?.stop())

  function start(required: boolean, ...rounds: Answers[]) {
    const [clock, log, metrics] = [new ManualClock(), keepingLog(), createMetrics(new Registry())]
    const kube = fakeKube(...rounds)
    const options = { kube, clock, metrics, config, namespace: 'skylab', required, intervalMs: 10_000 }
    watch = new PolicyWatch({ ...options, log })
    watch.start()
    const gauge = async () => (await metrics.admissionPolicyActive.get()).values[0]?.value
    const round = async (fromMs = 9000, toMs = 11_000) => {
      await clock.sleepBetween(fromMs, toMs)
      return [await gauge(), log.messages.splice(0)]
    }
    return { watch, round, next: (ms = 11_000) => clock.advance(ms) }
  }

  const missing = 'warn: the admission policy is not at work: apply k8s/base/policy.yaml'
  const gone: Answers = { late: 'accepted' }

  it('tells each change once, and the metric what is so', async () => {
    const { round, next } = start(false, gone, { deletion: byRights }, {}, {}, { own: byRights }, gone)
    const told = []
    for (let i = 0; i < 6; i++) {
      told.push(await round())
      next()
    }
    expect(told).toEqual([
      [0, [missing]],
      [0, []],
      [1, ['info: the admission policy is at work']],
      [1, []],
      [1, ['error: the admission policy refuses the labs of this configuration']],
      [0, [missing]],
    ])
  })

  it('an API server that does not answer changes nothing', async () => {
    const { round, next } = start(false, {}, { late: away }, {})
    expect(await round()).toEqual([1, ['info: the admission policy is at work']])
    next()
    expect(await round()).toEqual([1, ['debug: the admission policy is asked for later']])
    next()
    expect(await round()).toEqual([1, []])
  })

  it('refuses nothing where it is not required', async () => {
    const { watch, round } = start(false, gone)
    expect(watch.refusal).toBeUndefined()
    await round()
    expect(watch.refusal).toBeUndefined()
    watch.require()
  })

  it('refuses until it was found at work, asks soon again, and refuses when it is gone', async () => {
    const { watch, round, next } = start(true, gone, {}, gone)
    expect(() => watch.require()).toThrow('an answer about the admission policy')
    await round(1800, 2200)
    expect(watch.refusal).toMatch(/^the admission policy is not at work: apply .* was accepted\)$/)
    next(2200)
    await round()
    expect(watch.refusal).toBeUndefined()
    watch.require()
    next()
    await round(1800, 2200)
    expect(() => watch.require()).toThrow(expect.objectContaining({ status: 503 }))
  })

  it('refuses where labs of this configuration would be refused', async () => {
    const { watch, round } = start(true, { rights: [] })
    await round(1800, 2200)
    expect(watch.refusal).toMatch(/^labs of this configuration may not: own installations skylab, /)
  })
})
