/** What becomes of a tenant's objects when its LNamespace goes: by the cluster's own garbage collector, and without it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../src/base/domain.ts'
import { selfName } from '../../../src/tenants/names.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { pathOf, type TenantKind, TenantObjects, user } from '../../kit/tenants/objects.ts'
import { KubectlUser } from './kubectl.ts'
import { OwnCluster } from './own-cluster.ts'

/** The collector learns of a new definition within 30 s, and repeats what failed before ever more slowly. */
const collectedMs = 90_000

let own: OwnCluster
beforeAll(async () => {
  own = await OwnCluster.start()
})
afterAll(() => own?.close())

const platform = { quota: { pods: 10 }, limits: { max: { cpu: '1' } } }

/** Makes an LNamespace with one person of each sort. @returns all objects that it has */
async function made(name: string, one = { user: 'ada', manager: 'max', sudoer: `sue-${name}` }) {
  const spec = { users: [user(one.user)], managers: [user(one.manager)], sudoers: [user(one.sudoer)], platform }
  const { metadata } = await own.make(name, spec)
  await own.says(name, 'Ready', 'Ready')
  return new TenantObjects(name, metadata.uid!).all(one)
}

const find = ({ kind, metadata: { name, namespace } }: KubeObject) => own.find(kind as TenantKind, name, namespace)
const standing = async (objects: readonly KubeObject[]) =>
  (await Promise.all(objects.map(find))).filter(found => found !== undefined)
const creates = (who: string, namespace: string) => own.may(who, 'create', 'pods', { namespace })
const edits = (who: string, name: string) => own.may(who, 'patch', 'lnamespaces', { group: 'gial.lblw.dev', name })

/** Resolves when the controller has done what it was to do for an event of before. */
async function turned(): Promise<void> {
  const name = `turn-${performance.now().toFixed()}`
  await own.make(name, { sudoers: [] })
  await own.says(name, 'Ready', 'Ready')
}

describe('an LNamespace', () => {
  test('names the type of each right in a label', async () => {
    const objects = await made('typed')
    const types = (await standing(objects)).map(({ metadata }) => metadata.labels['gial.lblw.dev/rbac-type'])
    expect(new Set(types.filter(type => type !== undefined))).toEqual(
      new Set([
        ...['developer-permissions', 'sudoer-permissions', 'manager-permissions'],
        ...['sudoer-impersonator', 'self-impersonator'],
      ]),
    )
    await own.drop('typed')
  })

  test('is as declared again within five seconds when an administrator changes its objects', async () => {
    await made('drift')
    const at = (kind: TenantKind, name: string, namespace?: string) => pathOf(kind, name, namespace)
    const level = async () =>
      (await own.find('Namespace', 'drift')).metadata.labels['pod-security.kubernetes.io/enforce'] as string
    const [quota, binding, sudo] = [
      at('ResourceQuota', 'lns-platform', 'drift'),
      at('RoleBinding', 'lns-developer', 'drift'),
      at('ClusterRole', 'lns:sudo:drift'),
    ]
    const eve = { apiGroup: 'rbac.authorization.k8s.io', ...user('eve') }
    const begunMs = performance.now()
    await own.must('PATCH', at('Namespace', 'drift'), {
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
    })
    await own.must('DELETE', quota)
    await own.must('PATCH', binding, { subjects: [eve] })
    await own.must('PATCH', sudo, { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })
    await eventually('all as declared', async () => {
      const [there, bound, role] = await Promise.all([quota, binding, sudo].map(path => own.kube.request('GET', path)))
      const isBound = bound!.body.subjects?.length === 1 && bound!.body.subjects[0].name === 'ada'
      const isNarrow = role!.body.rules?.[0].resourceNames?.[0] === 'drift-sudoers'
      return there!.status === 200 && isBound && isNarrow && (await level()) === 'baseline'
    })
    expect(performance.now() - begunMs).toBeLessThan(5_000)
    await own.drop('drift')
  })
})

describe('the end of an LNamespace', () => {
  test('takes all its objects, and what was made in the namespace', async () => {
    const objects = await made('whole')
    const path = '/api/v1/namespaces/whole/configmaps'
    await own.must('POST', path, { metadata: { name: 'theirs' } })
    expect(await standing(objects)).toHaveLength(objects.length)
    await own.drop('whole')
    await eventually('the end of all', async () => (await standing(objects)).length === 0, collectedMs)
    expect((await own.kube.request('GET', `${path}/theirs`)).status).toBe(404)
    expect(await Promise.all([creates('ada', 'whole'), edits('max', 'whole')])).toEqual([false, false])
  })

  test('leaves all its objects when a manager asks for that by --cascade=orphan', async () => {
    const max = await KubectlUser.certified(own, 'max', 'max')
    const objects = await made('kept')
    const before = await standing(objects)
    expect((await max.kubectl(['delete', 'lns', 'kept', '--cascade=orphan', '--wait=false'])).code).toBe(0)
    await eventually('its end', async () => !(await own.find('LNamespace', 'kept')), collectedMs)
    await turned()
    const after = await standing(objects)
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid))
    expect(after.map(({ metadata }) => metadata.ownerReferences)).toEqual(after.map(() => undefined))
    // They are nobody's now, so an LNamespace of that name gets none of them.
    await own.make('kept', { users: [user('eve')], sudoers: [] })
    await own.says('kept', 'Accepted', 'Conflict')
    expect(await creates('eve', 'kept')).toBe(false)
    await own.drop('kept')
  })
})

test.each([
  ['works', 'SIGCONT'],
  ['is halted', 'SIGSTOP'],
] as const)(
  'a sudoer may impersonate himself while any LNamespace lists him, and no longer, when the controller manager %s',
  async (_state, signal) => {
    own.controllers(signal)
    try {
      const [first, second, sudoer] = [`a-${signal}`, `b-${signal}`, `twin-${signal}`].map(each =>
        each.toLowerCase(),
      ) as [...[string, string, string]]
      const uids: (string | undefined)[] = []
      for (const name of [first, second]) {
        uids.push((await own.make(name, { sudoers: [user(sudoer)] })).metadata.uid)
        await own.says(name, 'Ready', 'Ready')
      }
      const name = selfName(sudoer)
      const self = () => Promise.all((['ClusterRole', 'ClusterRoleBinding'] as const).map(kind => own.find(kind, name)))
      const owners = async () =>
        (await self()).map(each => each?.metadata.ownerReferences.map(({ uid }: { uid: string }) => uid).sort())
      const both = uids.toSorted()
      expect(await owners()).toEqual([both, both])
      const made = (await self()).map(({ metadata }) => metadata.uid)
      await own.edit(first, { sudoers: [] })
      await eventually('one owner', async () => (await owners()).every(each => each?.join() === uids[1]))
      await own.edit(first, { sudoers: [user(sudoer)] })
      await eventually('two owners', async () => (await owners()).every(each => each?.length === 2))
      await own.drop(first)
      await eventually('one owner', async () => (await owners()).every(each => each?.join() === uids[1]))
      expect((await self()).map(({ metadata }) => metadata.uid)).toEqual(made)
      expect(await own.may(sudoer, 'impersonate', 'users', { name: sudoer })).toBe(true)
      await own.drop(second)
      await eventually('its end', async () => (await self()).every(each => each === undefined))
      // While it is halted nobody else removes anything: all other rights of a deleted LNamespace are still there.
      if (signal === 'SIGSTOP') expect(await own.find('ClusterRole', `lns:edit:${first}`)).toBeDefined()
    } finally {
      own.controllers('SIGCONT')
    }
  },
)

test('an LNamespace made again gives nobody a right while the former namespace is being deleted, and then all', async () => {
  const name = 'again'
  const objects = await made(name)
  const namespace = await own.find('Namespace', name)
  const path = `/api/v1/namespaces/${name}/configmaps`
  await own.must('POST', path, { metadata: { name: 'holds', finalizers: ['example.org/holds'] } })
  await own.drop(name)
  const isEnding = async () => (await own.find('Namespace', name))?.metadata.deletionTimestamp !== undefined
  await eventually('the end of the namespace begins', isEnding, collectedMs)
  await own.make(name, { users: [user('eve')], managers: [user('mia')], sudoers: [user('sam')] })
  await own.says(name, 'NamespaceReady', 'FormerTerminating')
  await turned()
  const rights = () =>
    Promise.all([
      ...['ada', 'eve'].map(who => creates(who, name)),
      ...['max', 'mia'].map(who => edits(who, name)),
      ...[`sue-${name}`, 'sam'].map(who => own.may(who, 'impersonate', 'groups', { name: `${name}-sudoers` })),
      own.may('sam', 'get', 'secrets', { namespace: name }, [`${name}-sudoers`]),
    ])
  expect(await rights()).toEqual([false, false, false, false, false, false, false])
  expect((await own.find('Namespace', name)).metadata.uid).toBe(namespace.metadata.uid)
  await own.must('PATCH', `${path}/holds`, { metadata: { finalizers: null } })
  // The controller reads an object in deletion again every 30 s.
  await own.says(name, 'Ready', 'Ready', collectedMs)
  expect(await rights()).toEqual([false, true, false, true, false, true, true])
  expect((await own.find('Namespace', name)).metadata.uid).not.toBe(namespace.metadata.uid)
  expect(await standing(objects.filter(({ metadata }) => metadata.name.startsWith('lns:self:')))).toEqual([])
})
