/**
 * tenants N1: whatever a non-member asks for, it yields no right in a namespace of others: over the API, and by what was stored
 * before the policies were.
 */
import { creationPath, objectPath } from '../../../../src/kube/kinds.ts'
import { tenantParent } from '../../../../src/tenants/words.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { everything, tenantFleet, user } from './shared.ts'

const requests = isWhole ? 400 : 60
const reserved = ['kube-system', 'kube-public', 'default', 'skylab']
const rbac = 'rbac.authorization.k8s.io'
const path = creationPath(tenantParent.apiVersion, tenantParent.kind)
const pathOf = (name: string) => objectPath({ ...tenantParent, name })

/** Eve, and what she wants. */
interface Plot {
  readonly fleet: TenantFleet
  readonly eve: string
  /** A group that she is in, as everybody is. */
  readonly crowd: string
  readonly victim: { readonly name: string; readonly uid: string; readonly person: string }
  /** Namespaces that are none of hers. */
  readonly foreign: readonly string[]
}

/** Everybody may make LNamespaces, as `skylab:authenticated` lets them where no overlay narrows it. */
async function letAllMake(fleet: TenantFleet, group: string): Promise<void> {
  await fleet.must('POST', creationPath(`${rbac}/v1`, 'ClusterRoleBinding'), {
    ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name: group } },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'skylab:tenants:create' },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: group }],
  })
}

/** @param story names of one attack differ from those of another */
async function plotOf(trial: Trial, story: string): Promise<Plot> {
  const fleet = await tenantFleet()
  const victim = `${fleet.name}-victim-${story}`
  const person = `ada-${victim}`
  await fleet.make(everything([person]), victim)
  await fleet.says(victim, 'Ready', 'Ready')
  const plain = `${fleet.name}-plain-${story}`
  await fleet.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: plain } })
  const crowd = `${fleet.name}-crowd-${story}`
  await letAllMake(fleet, crowd)
  trial.context.onTestFinished(async () => {
    await fleet.kube.request(
      'DELETE',
      objectPath({ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', name: crowd }),
    )
    await fleet.kube.delete('Namespace', plain)
  })
  const { metadata } = await fleet.read(victim)
  return {
    ...{ fleet, eve: `eve-${fleet.name}-${story}`, crowd, victim: { name: victim, uid: metadata.uid, person } },
    foreign: ['kube-system', 'default', 'skylab', `nublado-${fleet.name}-${story}`, victim, plain],
  }
}

const asEve = ({ fleet, eve, crowd }: Plot, method: string, path: string, body?: object) =>
  fleet.kube.request(method, path, body, { 'Impersonate-User': eve, 'Impersonate-Group': [crowd] })

/** Rights that she has in namespaces of others. */
async function loot({ fleet, eve, crowd, foreign }: Plot): Promise<string[]> {
  const questions = foreign.flatMap(namespace => [
    ...[
      { verb: 'create', resource: 'pods', more: { namespace } },
      { verb: 'get', resource: 'secrets', more: { namespace } },
      { verb: 'patch', resource: 'namespaces', more: { namespace, name: namespace } },
      { verb: 'patch', resource: 'lnamespaces', more: { group: 'gial.lblw.dev', name: namespace } },
      { verb: 'impersonate', resource: 'groups', more: { name: `${namespace}-sudoers` } },
    ],
  ])
  const wide = [
    { verb: 'impersonate', resource: 'groups', more: { name: 'system:masters' } },
    { verb: 'impersonate', resource: 'users', more: { name: 'admin' } },
    { verb: 'create', resource: 'clusterrolebindings', more: { group: rbac } },
    { verb: 'override', resource: 'lnamespaces', more: { group: 'gial.lblw.dev' } },
  ]
  const answers = await Promise.all(
    [...questions, ...wide].map(async ({ verb, resource, more }) => {
      const may = await fleet.may(eve, verb, resource, more, [crowd])
      return may ? [`a stranger may ${verb} ${resource} ${JSON.stringify(more)}`] : []
    }),
  )
  return answers.flat()
}

/** One request of hers, by chance. */
function requestOf(trial: Trial, { fleet, eve, crowd, victim, foreign }: Plot, i: number) {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(trial.random() * all.length)]!
  const good = [[], [user(eve)], [user(eve), user(victim.person)], [{ kind: 'Group', name: crowd }]]
  const bad = [
    [{ kind: 'Group', name: 'system:masters' }],
    [{ kind: 'Group', name: `${victim.name}-sudoers` }],
    [user('system:kube-controller-manager')],
    [{ kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' }],
    [user(`${eve}\u202e`)],
    [{ kind: 'Role', name: 'x' }],
  ]
  const subjects = () => pick<object[]>(trial.random() < 0.85 ? good : bad)
  const spec = {
    ...{ users: subjects(), managers: subjects() },
    ...(trial.random() < 0.8 && { sudoers: subjects() }),
    ...pick<object>([
      {},
      {},
      {},
      { platform: { podSecurity: 'privileged' } },
      { namespaceLabelOverrides: { 'lns.skylab/uid': victim.uid, 'kubernetes.io/metadata.name': 'kube-system' } },
      { sudo: { eligible: [user(eve)], maxSeconds: 28_800 } },
    ]),
  }
  if (i % 10 === 0) {
    // Some of it is nothing but a tenant of hers.
    const own = { ...tenantParent, metadata: { name: `${fleet.name}-eve-${i}` }, spec: everything([eve]) }
    return { method: 'POST', path, body: own }
  }
  const name = pick([...foreign, 'kube-public', 'nublado', `${fleet.name}-eve-${i % 5}`, `${fleet.name}-eve-${i}`])
  const metadata = {
    name,
    ...pick<object>([
      {},
      {},
      { annotations: { 'lns.skylab/requester': pick([victim.person, 'admin', 'system:masters']) } },
      {
        annotations: { 'lns.skylab/adopt': victim.uid },
        labels: { 'lns.skylab/uid': victim.uid, 'lns.skylab/of': victim.name },
      },
      { ownerReferences: [{ ...tenantParent, name: victim.name, uid: victim.uid, controller: true }] },
      { finalizers: ['orphan'] },
    ]),
  }
  const until = new Date(Date.now() + 600_000).toISOString()
  const status = { grants: [{ id: 'x', user: eve, until }] }
  return pick([
    { method: 'POST', path, body: { ...tenantParent, metadata, spec, status } },
    { method: 'POST', path, body: { ...tenantParent, metadata, spec } },
    { method: 'POST', path, body: { ...tenantParent, metadata: { name }, spec } },
    { method: 'PATCH', path: pathOf(name), body: { spec } },
    { method: 'PATCH', path: pathOf(name), body: { metadata } },
    { method: 'PATCH', path: `${pathOf(name)}/status`, body: { status } },
    { method: 'DELETE', path: pathOf(name), body: {} },
  ])
}

async function generated(trial: Trial): Promise<void> {
  const plot = await plotOf(trial, 'asked')
  const { fleet, victim } = plot
  const codes = new Map<number, number>()
  const made = new Set<string>()
  for (let i = 0; i < requests; i += 1) {
    trial.injected()
    const { method, path, body } = requestOf(trial, plot, i)
    const { status, body: answer } = await asEve(plot, method, path, body)
    codes.set(status, (codes.get(status) ?? 0) + 1)
    if (status === 201) made.add(answer.metadata.name)
    if (status === 201 && reserved.includes(answer.metadata.name))
      trial.violation(`${answer.metadata.name} was admitted`)
    // A creation has landed when its turn is over; the rest, when it is answered.
    if (status !== 201) trial.landed()
    if (i % 20 === 19) for (const right of await loot(plot)) trial.violation(right)
  }
  for (const name of made) {
    const isTold = async () => {
      const found = await fleet.read(name)
      return found === null || found.status?.observedGeneration === found.metadata.generation
    }
    await eventually(`a turn for ${name}`, isTold)
  }
  trial.landed(codes.get(201) ?? 0)
  for (const right of await loot(plot)) trial.violation(right)
  trial.figure('codes', Object.fromEntries(codes))
  if ((codes.get(201) ?? 0) === 0) trial.violation('nothing of hers was admitted')
  if ((await fleet.read(victim.name)).metadata.uid !== victim.uid) trial.violation('the victim is another')
  await Promise.all([...made].map(name => fleet.kube.request('DELETE', pathOf(name))))
}

/** What was stored before the policies were: names of others, a forged requester, strange owners. */
async function storedBefore(trial: Trial): Promise<void> {
  const plot = await plotOf(trial, 'stored')
  const { fleet, eve, foreign, victim } = plot
  const all = everything([eve])
  const owners = [{ ...tenantParent, name: victim.name, uid: victim.uid }]
  for (const name of ['names', 'names-labs', 'lnamespaces'].map(each => `skylab-tenants-${each}`))
    await fleet.unprotect(name)
  // The victim's own name is taken.
  const names = foreign.filter(name => name !== victim.name)
  trial.injected(names.length)
  for (const name of names) {
    const annotations = { 'lns.skylab/requester': victim.person }
    const body = { ...tenantParent, metadata: { name, annotations, ownerReferences: owners }, spec: all }
    const isStored = async () => [201, 409].includes((await asEve(plot, 'POST', path, body)).status)
    await eventually(`${name} is stored`, isStored)
  }
  trial.context.onTestFinished(async () => {
    await Promise.all(names.map(name => fleet.kube.request('DELETE', pathOf(name))))
  })
  await fleet.protect()
  const reasons = new Map<string, number>()
  for (const name of names) {
    const reason = await eventually(`a turn for ${name}`, async () => acceptance(await fleet.read(name)))
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    trial.landed()
  }
  for (const right of await loot(plot)) trial.violation(right)
  trial.figure('reasons', Object.fromEntries(reasons))
}

/** The reason of `Accepted`, once the policies count again. */
// biome-ignore lint/suspicious/noExplicitAny: an LNamespace
function acceptance({ status }: any): string | undefined {
  const reason = status?.conditions?.find(({ type }: { type: string }) => type === 'Accepted')?.reason
  return reason === 'PolicyMissing' ? undefined : reason
}

/** The victim's LNamespace goes, its Namespace is Terminating, and the stranger makes the name again. */
async function whileTerminating(trial: Trial): Promise<void> {
  const plot = await plotOf(trial, 'ended')
  const { fleet, victim, eve, crowd } = plot
  const { name, person } = victim
  const keep = { name: 'keep', namespace: name, finalizers: ['example.org/keep'] }
  await fleet.kube.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: keep })
  await fleet.kube.delete('Namespace', name)
  trial.injected()
  await fleet.drop(name)
  const { status, body } = await asEve(plot, 'POST', path, {
    ...tenantParent,
    metadata: { name },
    spec: everything([eve]),
  })
  if (status !== 201) throw new Error(`${name} was not made: ${status} ${body.message}`)
  await fleet.says(name, 'Ready', 'FormerTerminating')
  trial.landed()
  const inside = async (user: string) =>
    (
      await Promise.all(
        ['pods', 'secrets'].map(resource => fleet.may(user, 'get', resource, { namespace: name }, [crowd])),
      )
    ).some(Boolean)
  if (await inside(eve)) trial.violation('a stranger has rights in a namespace that is Terminating')
  if (await fleet.may(person, 'patch', 'lnamespaces', { group: 'gial.lblw.dev', name })) {
    trial.violation('rights of the former tenant hold for the next one')
  }
  const finalizers = { metadata: { finalizers: null } }
  await fleet.kube.patch('ConfigMap', 'keep', name, finalizers)
  await fleet.kube.request('DELETE', pathOf(name))
}

attack('tenants N1 requests of a stranger', generated)
attack('tenants N1 what was stored before the policies', storedBefore)
attack('tenants N1 the name of a tenant that is Terminating', whileTerminating)
