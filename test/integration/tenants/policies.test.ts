/** The definition and the policies of k8s/components/tenants, on a cluster of their own: what they admit, and what not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tenantsObjects } from '../../../dev/kube/tenants.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { completed, golden } from '../../kit/tenants/admission-golden.ts'
import { impersonate, lnamespace, user } from '../../kit/tenants/objects.ts'
import { change, make, remove } from '../../kit/tenants/site.ts'
import * as accounts from './account.cases.ts'
import { refused as refusedToAccount } from './account-refused.cases.ts'
import * as guards from './guard.cases.ts'
import { malformed } from './malformed.cases.ts'
import * as persons from './people.cases.ts'
import { type Case, people, policies, startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.site.close())

function sudoer(name: string) {
  return { kind: 'User', name, namespace: '' }
}

const rows = (cases: readonly Case[]) => cases.map(each => [each.title, each.by, each] as const)

const answerTo = ({ by, ask }: Case) => world.site.send(people[by], ask(world))

async function expectAdmitted(one: Case): Promise<void> {
  const { status, body } = await answerTo(one)
  expect([status < 300 || body.reason === 'NotFound', body.message ?? '']).toEqual([
    true,
    expect.not.stringContaining('denied request'),
  ])
}

async function expectRefused(one: Case): Promise<void> {
  const { status, body } = await answerTo(one)
  expect(body.message).toContain(`ValidatingAdmissionPolicy '${one.policy}'`)
  expect(body.message).toContain(one.words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

describe('LNamespaces', () => {
  test.each(rows(persons.admitted))('policies admit %s (%s)', (_title, _by, one) => expectAdmitted(one))
  test.each(rows(persons.refused))('policies refuse %s (%s)', (_title, _by, one) => expectRefused(one))
  test.each(rows(malformed))('the definition refuses %s (%s)', async (_title, _by, one) => {
    const { status, body } = await answerTo(one)
    expect(body.message).toContain(one.words)
    expect([status, body.reason]).toEqual([422, 'Invalid'])
  })
})

describe('the account of the controller', () => {
  test.each(rows(accounts.admitted))('may write %s', (_title, _by, one) => expectAdmitted(one))
  test.each(rows(refusedToAccount))('may not write %s', (_title, _by, one) => expectRefused(one))
  test.each(rows(accounts.beyondRbac))('may not write %s, whatever its rights', async (_title, _by, one) => {
    const masters = { ...people.controller, groups: ['system:masters'] }
    const { body } = await world.site.send(masters, one.ask(world))
    expect(body.message).toContain(`ValidatingAdmissionPolicy '${one.policy}'`)
    expect(body.message).toContain(one.words)
  })
})

describe('the guard', () => {
  test.each(rows(guards.admitted))('admits %s (%s)', (_title, _by, one) => expectAdmitted(one))
  test.each(rows(guards.refused))('refuses %s (%s)', (_title, _by, one) => expectRefused(one))
  test.each(rows(guards.removals))('refuses a removal: %s (%s)', (_title, _by, one) => expectRefused(one))
})

test('the definition can be deleted by an administrator who has annotated it', async () => {
  const definition = {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: 'lnamespaces.gial.lblw.dev' },
  }
  const mark = (value: string | null) =>
    world.site.must(people.carl, change(definition, { metadata: { annotations: { 'lns.skylab/deletion': value } } }))
  await mark('of-all-tenants')
  const [carl, mona] = await Promise.all(
    [people.carl, people.mona].map(each => world.site.send(each, remove(definition))),
  )
  await mark(null)
  expect(carl!.status).toBe(200)
  expect(mona!.body.message).toContain('as an account that may override lnamespaces')
})

test.each([
  ['whoever creates without a list', 'eve', undefined, [sudoer('eve')]],
  ['nobody where the list is empty', 'eve', [], []],
  ['those of the list', 'eve', [user('ada')], [sudoer('ada')]],
  ['nobody where a program creates without a list', 'argo', undefined, undefined],
] as const)('sudoers are %s', async (_title, by, sudoers, expected) => {
  const { body } = await world.site.send(people[by], make(lnamespace('new', sudoers && { sudoers })))
  expect(body.metadata.annotations).toEqual({ 'lns.skylab/requester': people[by].name })
  expect(body.spec?.sudoers).toEqual(expected)
})

test.each(golden.map(row => [row.title, row] as const))(
  'the policy makes the patches of the webhook: %s',
  async (_, row) => {
    const { status, body } = await world.site.send(people[row.by], make(row.object))
    const whole = completed(row)
    expect([status, body.metadata.annotations]).toEqual([201, whole.metadata.annotations])
    const { sudoers } = (whole.spec ?? {}) as { sudoers?: object[] }
    expect(body.spec?.sudoers).toEqual(sudoers?.map(each => expect.objectContaining(each)))
  },
)

test('a creation is refused while nothing adds the requester', async () => {
  const { site } = world
  const ask = make(lnamespace('new'))
  const isRefused = async () => (await site.send(people.eve, ask)).body.message?.includes('must be who asks') ?? false
  const binding = (await tenantsObjects()).find(({ kind }) => kind === 'MutatingAdmissionPolicyBinding')!
  await site.must(people.carl, remove(binding))
  await eventually('a refusal', isRefused)
  await site.must(people.carl, make(binding))
  await eventually('no refusal', async () => !(await isRefused()))
})

test('the policies afford a role with 500 owners', async () => {
  const { site, blue } = world
  const owners = Array.from({ length: 499 }, (_, index) => ({ ...blue.owner, name: `t${index}`, uid: `uid-${index}` }))
  const role = blue.role('lns:self:much', [impersonate('users', 'much')], { ownerReferences: [blue.owner, ...owners] })
  await site.must(people.controller, make(role))
  // The garbage collector removes owners that do not exist, in its time.
  const fewer = change(role, { metadata: { ownerReferences: [blue.owner, ...owners.slice(1)] } })
  const [ours, others] = await Promise.all([people.controller, people.mona].map(each => site.send(each, fewer)))
  expect([ours!.status, ours!.body.message]).toEqual([200, undefined])
  expect(others!.body.message).toContain('an LNamespace as owner')
})

interface Rule {
  readonly expression: string
  readonly message?: string
  readonly messageExpression?: string
}

const all = [
  ...[...persons.refused, ...refusedToAccount, ...guards.refused, ...guards.removals].map(one => ({
    one,
    masters: false,
  })),
  ...accounts.beyondRbac.map(one => ({ one, masters: true })),
]

/** The words of a rule, as the cases quote them. */
const wordsOf = ({ message = '', messageExpression = '' }: Rule) => `${message} ${messageExpression}`

/** A policy must have a rule. */
const nothing: Rule = { expression: 'true' }

test.concurrent.each(policies)('each rule of %s has a case that passes when the rule is gone', async name => {
  const objects = await tenantsObjects()
  const object = objects.find(({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === name)!
  const { validations } = object.spec as { validations: readonly Rule[] }
  const faults: string[] = []
  for (const rule of validations) {
    await write(object, [...validations.filter(each => each !== rule), nothing])
    const cases = all.filter(({ one }) => one.policy === name && wordsOf(rule).includes(one.words!))
    await eventually(wordsOf(rule), () => anyPasses(cases), goneLimitMs).catch(error => faults.push(error.message))
  }
  await write(object, validations)
  expect(faults).toEqual([])
})

// Last: the garbage collector notices a new definition within 30 s, and repeats what failed before ever more slowly.
test('the cluster itself counts the quota of a tenant, and removes all of it when its LNamespace is gone', async () => {
  const { site } = world
  const brief = await site.tenant('brief', { name: 'ben' })
  const quota = brief.platform('ResourceQuota')
  await eventually('a counted quota', async () => (await site.read(quota)).status?.hard?.pods === '10')
  await site.must(people.olga, remove(lnamespace('brief')))
  for (const object of [brief.namespace(), brief.role('lns:sudo:brief', []), brief.binding('lns:self:ben', [])]) {
    await eventually(
      `the end of ${object.metadata.name}`,
      async () => (await site.read(object)).code === 404,
      collectedLimitMs,
    )
  }
})

const collectedLimitMs = 90_000
const goneLimitMs = 15_000

const write = (policy: KubeObject, validations: readonly Rule[]) =>
  world.site.must({ name: 'admin', groups: ['system:masters'] }, change(policy, { spec: { validations } }))

async function anyPasses(cases: typeof all): Promise<boolean> {
  const answers = cases.map(({ one, masters }) =>
    world.site.send({ ...people[one.by], ...(masters && { groups: ['system:masters'] }) }, one.ask(world)),
  )
  return (await Promise.all(answers)).some(({ body }) => !body.message?.includes('denied request'))
}
