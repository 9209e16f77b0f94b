import { expect, test } from 'vitest'
import type { KubeObject } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import { type CallOptions, KubeError } from '../../kube/client.ts'
import { guards, tenantPolicies } from '../../tenants/probes.ts'
import { renderTenantRights, settingsRole } from '../../tenants/settings.ts'
import { settingsOf } from '../../tenants/testing/world.ts'
import { askForTenantPolicies } from './policies.ts'

const byPolicy = (name: string) =>
  new KubeError(
    403,
    'Forbidden',
    `forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: no`,
  )
const account = 'system:serviceaccount:skylab:skylab-tenants'
const byRights = new KubeError(403, 'Forbidden', `forbidden: User "${account}" cannot create resource "clusterroles"`)

const guard = { spec: { failurePolicy: 'Fail', validations: [{ expression: 'true' }] } }
const binding = { spec: { policyName: guards[0], validationActions: ['Deny', 'Audit'] } }

const settings = settingsOf()
const [settingsAsRendered] = renderTenantRights(settings)

interface Answers {
  readonly role?: Error | 'accepted'
  readonly lnamespace?: Error | 'accepted'
  readonly guard?: object | null | Error
  readonly binding?: object | null | Error
  /** The second guard. */
  readonly second?: null
  readonly settings?: object | null | Error
}

function fakeKube(answers: Answers) {
  const { role, lnamespace } = {
    ...{ role: byPolicy(tenantPolicies.controller), lnamespace: byPolicy(tenantPolicies.lnamespaces) },
    ...answers,
  }
  const dryRuns: unknown[] = []
  const create = async (object: KubeObject, { dryRun }: CallOptions = {}) => {
    dryRuns.push(dryRun)
    const answer = object.kind === 'ClusterRole' ? role : lnamespace
    if (answer instanceof Error) throw answer
    return object
  }
  const get = async ({ kind, name }: { kind: string; name: string }) => {
    if (name === settingsRole) {
      const role = { settings: settingsAsRendered, ...answers }.settings
      if (role instanceof Error) throw role
      return role
    }
    const isBinding = kind.endsWith('Binding')
    if (name === guards[1])
      return answers.second === null ? null : isBinding ? { spec: { ...binding.spec, policyName: name } } : guard
    const found = isBinding ? { binding, ...answers }.binding : { guard, ...answers }.guard
    if (found instanceof Error) throw found
    return found
  }
  return { dryRuns, create, get, account: async () => account } as never as Parameters<
    typeof askForTenantPolicies
  >[0] & {
    dryRuns: unknown[]
  }
}

const ask = (answers: Answers = {}) => askForTenantPolicies(fakeKube(answers), settings, new AbortController().signal)

test('askForTenantPolicies finds all three in force, by dry runs alone', async () => {
  const kube = fakeKube({})
  const answer = await askForTenantPolicies(kube, settings, new AbortController().signal)
  expect(answer).toEqual({ active: true, reason: null, missing: [] })
  expect(kube.dryRuns).toEqual([true, true])
})

test.each([
  ['a role with all rights is accepted', { role: 'accepted' }, 'a role with all rights was accepted from'],
  ['another policy refuses the role', { role: byPolicy('other') }, 'other'],
  ['an LNamespace of the controller is accepted', { lnamespace: 'accepted' }, 'an LNamespace of an account'],
  ['there is no guard', { guard: null }, 'there is no policy skylab-tenants-guard'],
  ['there is no second guard', { second: null }, 'there is no policy skylab-tenants-guard-deletions'],
  ['the guard is not bound', { binding: null }, 'there is no binding'],
  ['the guard ignores failures', { guard: { spec: { ...guard.spec, failurePolicy: 'Ignore' } } }, 'lets pass'],
  ['the guard has no rules', { guard: { spec: {} } }, 'has no rules'],
  ['the guard only warns', { binding: { spec: { ...binding.spec, validationActions: ['Warn'] } } }, 'denies nothing'],
  [
    'the binding is of another policy',
    { binding: { spec: { ...binding.spec, policyName: 'x' } } },
    'of another policy',
  ],
] as const)('askForTenantPolicies finds them missing when %s', async (_, answers, words) => {
  expect(await ask(answers as Answers)).toMatchObject({ active: false, reason: expect.stringContaining(words) })
})

test('askForTenantPolicies finds them in force, by other settings than ours', async () => {
  const rules = [{ apiGroups: ['skylab.dev'], resources: ['labelprefixes'], resourceNames: ['example.com/'] }]
  const others = { ...settingsAsRendered, rules: [...(settingsAsRendered!.rules as object[]), ...rules] }
  expect(await ask({ settings: others })).toEqual({
    ...{ active: true, missing: [] },
    reason: expect.stringContaining('labelprefixes example.com/ only in the role'),
  })
  expect((await ask({ settings: null })).reason).toContain('there is no ClusterRole skylab-tenants-settings')
})

test('askForTenantPolicies tells when another installation serves the tenants', async () => {
  const [others] = renderTenantRights({ ...settings, installation: 'observatory' })
  const words = 'another installation serves the tenants of this cluster'
  expect(await ask({ settings: others! })).toEqual({
    ...{ active: true, missing: [], elsewhere: true },
    reason: `${words}: the ClusterRole skylab-tenants-settings names observatory, and this one is skylab`,
  })
  expect(await ask({ settings: others!, guard: null })).toMatchObject({ active: false, elsewhere: true })
})

test('askForTenantPolicies names a missing policy before other settings', async () => {
  expect(await ask({ settings: null, guard: null })).toMatchObject({
    active: false,
    reason: expect.stringContaining('guard'),
  })
})

test.each([{ role: byRights }, { guard: byRights }, { settings: byRights }])(
  'askForTenantPolicies cannot tell without rights: %j',
  async answers => {
    expect(await ask(answers as Answers)).toMatchObject({
      active: null,
      reason: expect.stringContaining('cannot create'),
    })
  },
)

test.each([{ role: new RetryLater('away') }, { guard: new RetryLater('away') }, { settings: new RetryLater('away') }])(
  'askForTenantPolicies has no answer while the API server is silent: %j',
  async answers => {
    await expect(ask(answers as Answers)).rejects.toThrow('away')
  },
)
