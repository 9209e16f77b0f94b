import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import type { KubeObject } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import { type CallOptions, KubeError } from '../../kube/client.ts'
import { controllerRights } from '../../labs/controller-rights.ts'
import { labRights, type RightsRule } from '../../labs/rights.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { askForPolicy, type PolicyQuestion, PolicyWatch } from './policy.ts'

const refused = (words: string) => new KubeError(403, 'Forbidden', `configmaps "skylab-policy-probe" is ${words}`)
const byPolicy = (name: string) =>
  refused(`forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: no lab`)
const account = 'system:serviceaccount:observatory:skylab'
const byRights = refused(`forbidden: User "${account}" cannot create resource "configmaps"`)
const away = new RetryLater('Kubernetes does not answer for now')

const config = configSchema.parse({ lab: { annotations: { a: 'b' } } })

const ofController = [...controllerRights.everywhere, ...controllerRights.within]
/** All rights of the controller but these, such as `create namespaces`. */
const without = (...rights: readonly string[]) => [
  ...labRights(config),
  ...ofController.filter(({ verbs, resources }) => !rights.includes(`${verbs[0]} ${resources[0]}`)),
]

type Answer = Error | 'accepted'

/** The API server's answer to each probe, and the rights that it lists. */
interface Answers {
  readonly late?: Answer
  readonly deletion?: Answer
  readonly elsewhere?: Answer
  readonly own?: Answer
  readonly rights?: readonly RightsRule[]
  readonly incomplete?: boolean
  readonly account?: string
}

const sound: Answers = {
  ...{ late: byPolicy('skylab'), deletion: byPolicy('skylab'), elsewhere: byPolicy('skylab-labs'), own: 'accepted' },
  rights: [...labRights(config), ...ofController],
}

/** Answers rounds of probes with these, repeating the last ones. */
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
  const whoAmI = async () => current.account ?? account
  return { asked, create, request, account: whoAmI } as never as { asked: typeof asked } & PolicyQuestion['kube']
}

const sane = { active: true, reason: null, missing: [] }
const ask = (answers: Answers) => askForPolicy({ kube: fakeKube(answers), config, namespace: 'skylab' })

describe('askForPolicy', () => {
  it('sends only dry runs', async () => {
    const kube = fakeKube({})
    expect(await askForPolicy({ kube, config, namespace: 'skylab' })).toEqual(sane)
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
    expect(await ask({ [question]: byPolicy(policy) })).toEqual(sane)
    expect(await ask({ [question]: 'accepted' })).toMatchObject({
      active: false,
      reason: expect.stringContaining('was accepted'),
    })
    for (const error of [byPolicy('other'), new KubeError(422, 'Invalid', byPolicy(policy).message)]) {
      expect(await ask({ [question]: error })).toMatchObject({ active: false, reason: error.message })
    }
    await expect(ask({ [question]: away })).rejects.toBe(away)
  })

  it('names the account that the policy does not cover', async () => {
    const { reason } = await ask({ late: 'accepted', account: 'system:serviceaccount:skylab:other' })
    expect(reason).toBe(
      'a write into a namespace that is no lab was accepted from system:serviceaccount:skylab:other, whom the policy does not concern: it knows ServiceAccounts called skylab',
    )
  })

  it.each(['late', 'deletion', 'elsewhere', 'own'] as const)(
    'reports no state of the policy when the account lacks the right to ask: %s',
    async question => {
      expect(await ask({ [question]: byRights })).toMatchObject({
        active: null,
        reason: expect.stringMatching(/User ".*" cannot create resource "configmaps": apply k8s\/base\/rbac\.yaml/),
      })
    },
  )

  it('names the rights that the account lacks, and the account', async () => {
    expect(await ask({ late: byRights, rights: without('create configmaps', 'watch events') })).toEqual({
      active: null,
      reason: `${account} may not create configmaps: apply k8s/base/rbac.yaml, and rights.yaml as \`skylab rights\` prints it`,
      missing: ['create configmaps', 'watch events'],
    })
  })

  it('names a missing right that labs do not need, without refusing labs', async () => {
    expect(await ask({ rights: without('patch daemonsets') })).toEqual({ ...sane, missing: ['patch daemonsets'] })
  })

  it('reports when labs of this configuration would be refused', async () => {
    const error = byPolicy('skylab')
    expect(await ask({ own: error })).toMatchObject({ active: true, reason: expect.stringContaining(error.message) })
    expect(await ask({ own: new KubeError(409, 'AlreadyExists', 'somebody is called so') })).toMatchObject({
      reason: null,
    })
  })

  it('names the rights for labs that the account lacks', async () => {
    const rights = [...labRights(configSchema.parse({})), ...ofController]
    expect(await ask({ rights })).toMatchObject({
      active: true,
      reason: 'labs of this configuration may not: use annotations a=b; apply what `skylab rights` prints',
    })
    expect(await ask({ rights: [], incomplete: true })).toMatchObject({ reason: null })
  })

  it('probes with a namespace outside the labs’ prefix', async () => {
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
    let back = 0
    const onRightsBack = () => {
      back += 1
    }
    const options = { kube, clock, metrics, config, namespace: 'skylab', required, intervalMs: 10_000, onRightsBack }
    watch = new PolicyWatch({ ...options, log })
    watch.start()
    const gauge = async () => (await metrics.admissionPolicyActive.get()).values[0]?.value
    const round = async (fromMs = 9000, toMs = 11_000) => {
      await clock.sleepBetween(fromMs, toMs)
      return [await gauge(), log.messages.splice(0)]
    }
    /** Rights that are missing, and how often they came back. */
    const counts = async () => [(await metrics.kubernetesRightsMissing.get()).values[0]?.value, back]
    return { watch, round, counts, next: (ms = 11_000) => clock.advance(ms) }
  }

  const missing = 'warn: the admission policy is not at work: apply k8s/base/policy.yaml'
  const gone: Answers = { late: 'accepted' }

  it('logs each change once, and sets the metric to the current state', async () => {
    const { round, next } = start(false, gone, { deletion: byPolicy('other') }, {}, {}, { own: byPolicy('a') }, gone)
    const reported = []
    for (let i = 0; i < 6; i++) {
      reported.push(await round())
      next()
    }
    expect(reported).toEqual([
      [0, [missing]],
      [0, []],
      [1, ['info: the admission policy is at work']],
      [1, []],
      [1, ['error: the admission policy refuses the labs of this configuration']],
      [0, [missing]],
    ])
  })

  it('keeps its answer while the API server is silent', async () => {
    const { round, next } = start(false, {}, { late: away }, {})
    expect(await round()).toEqual([1, ['info: the admission policy is at work']])
    next()
    expect(await round()).toEqual([1, ['debug: the admission policy is asked for later']])
    next()
    expect(await round()).toEqual([1, []])
  })

  it('refuses nothing when it is not required', async () => {
    const { watch, round } = start(false, gone)
    expect(watch.refusal).toBeUndefined()
    await round()
    expect(watch.refusal).toBeUndefined()
    watch.require()
  })

  it('refuses until the policy is found enforced, asks again soon, and refuses when it is gone', async () => {
    const { watch, round, next } = start(true, gone, {}, gone)
    expect(() => watch.require()).toThrow('an answer about the admission policy')
    await round(1800, 2200)
    expect(watch.refusal).toMatch(/^the admission policy is not at work: apply .* was accepted from .*:skylab\)$/)
    next(2200)
    await round()
    expect(watch.refusal).toBeUndefined()
    watch.require()
    next()
    await round(1800, 2200)
    expect(() => watch.require()).toThrow(expect.objectContaining({ status: 503 }))
  })

  it('refuses creations when labs of this configuration would be refused', async () => {
    const { watch, round } = start(true, { rights: [] })
    await round(1800, 2200)
    expect(watch.refusal).toMatch(/ may not get namespaces, .* and \d+ more: apply k8s\/base\/rbac\.yaml/)
  })

  it('asks soon after a refusal, and logs a missing right once and its return', async () => {
    const lacking = { own: byRights, rights: without('create namespaces') }
    const { watch, round, next, counts } = start(true, {}, lacking, lacking, {})
    await round()
    next(3000)
    watch.wake()
    expect(await round(1800, 2200)).toEqual([1, ['warn: rights are missing']])
    expect([watch.lacking, await counts()]).toEqual([['create namespaces'], [1, 0]])
    expect(watch.refusal).toMatch(/may not create namespaces/)
    next(2200)
    expect(await round(1800, 2200)).toEqual([1, []])
    next(2200)
    expect(await round()).toEqual([1, ['info: no right is missing any more', 'info: the admission policy is at work']])
    expect([watch.lacking, await counts()]).toEqual([[], [0, 1]])
  })
})
