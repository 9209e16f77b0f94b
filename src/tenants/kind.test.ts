/** LNamespaces and their objects on an API server in memory. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tenantKind } from './kind.ts'
import { people, Tenants } from './testing/replicas.ts'
import { user } from './testing/world.ts'
import { tenantParent } from './words.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const sudo = () => tenants.subjects('ClusterRoleBinding', 'lns:sudo:a')
const users = () => tenants.subjects('RoleBinding', 'lns-developer', 'a')
const noRights = () => expect(tenants.names().filter(name => /Role/.test(name))).toEqual([])

describe('an LNamespace', () => {
  test('gets all objects of its table, each owned by it, and says so', async () => {
    tenants.replica()
    const uid = await tenants.made()
    expect(tenants.names()).toEqual([
      ...['ClusterRole lns:edit:a', 'ClusterRole lns:self:sue', 'ClusterRole lns:sudo:a'],
      ...['ClusterRoleBinding lns:edit:a', 'ClusterRoleBinding lns:self:sue', 'ClusterRoleBinding lns:sudo:a'],
      ...['Namespace a', 'NetworkPolicy a/lns-platform'],
      ...['RoleBinding a/lns-developer', 'RoleBinding a/lns-sudoer'],
    ])
    const objects = [...tenants.api.objects.values()].filter(({ kind }) => kind !== 'LNamespace')
    for (const { metadata } of objects) {
      expect(metadata.ownerReferences).toEqual([{ ...tenantParent, name: 'a', uid }])
      expect(metadata.labels).toMatchObject({ 'lns.skylab/installation': 'skylab' })
    }
    expect(tenants.subjects('ClusterRoleBinding', 'lns:edit:a')).toEqual(['a-sudoers', 'max'])
    expect([users(), sudo()]).toEqual([['ada'], ['sue']])
    expect(tenants.get('LNamespace', 'a')?.status).toMatchObject({
      ...{ observedGeneration: 1, namespaceUID: tenants.get('Namespace', 'a')!.metadata.uid, sudoGroup: 'a-sudoers' },
      counts: { users: 1, managers: 1, sudoers: 1 },
    })
  })

  test('costs no write once it stands, whoever looks', async () => {
    const { world } = tenants.replica()
    tenants.replica()
    await tenants.made()
    await tenants.pass(5_000)
    expect(tenants.written()).toEqual([])
    expect([...world.sights.namespaces.values()]).toHaveLength(1)
  })

  test('gets its namespace first, then its bounds, then roles, and bindings last', async () => {
    tenants.replica()
    await tenants.declare('a', {
      spec: { ...people, platform: { quota: { pods: '5' }, limits: { max: { cpu: '1' } } } },
    })
    await tenants.pass()
    const order = tenants.written().filter(write => !write.includes('lns:self') && write.startsWith('create'))
    const stage = (write: string) =>
      ['Namespace', 'lns-platform', 'ClusterRole ', 'Binding '].findIndex(it => write.includes(it))
    expect(order).toHaveLength(10)
    expect(order.map(stage)).toEqual(order.map(stage).toSorted())
    expect(tenants.get('LimitRange', 'lns-platform', 'a')?.spec).toEqual({
      limits: [{ type: 'Container', max: { cpu: '1' }, default: { cpu: '1' }, defaultRequest: { cpu: '1' } }],
    })
  })

  test('loses what an edit takes away, before it gets what the edit gives', async () => {
    tenants.replica()
    await tenants.made()
    tenants.declare('a', { spec: { users: [user('bob')], managers: [], sudoers: [user('tom')] } })
    const seen: string[] = []
    tenants.api.onWrite = (_verb, { name }, body) => {
      const { subjects } = body as { subjects?: { name: string }[] }
      if (subjects && !name.includes('self')) seen.push(`${name}: ${subjects.map(each => each.name).join()}`)
    }
    await tenants.pass()
    expect(seen.slice(0, 3).sort()).toEqual(['lns-developer: ', 'lns:edit:a: a-sudoers', 'lns:sudo:a: '])
    expect(seen.slice(3).sort()).toEqual(['lns-developer: bob', 'lns:sudo:a: tom'])
    expect(tenants.names()).not.toContain('ClusterRole lns:self:sue')
  })

  test('has no object for users or sudoers when it names none', async () => {
    tenants.replica()
    await tenants.made('a', {})
    expect(tenants.names()).toEqual([
      ...['ClusterRole lns:edit:a', 'ClusterRoleBinding lns:edit:a', 'Namespace a', 'NetworkPolicy a/lns-platform'],
      'RoleBinding a/lns-sudoer',
    ])
  })

  test('gets nothing of its predecessor when it is made again, and the former rights go at once', async () => {
    tenants.replica()
    await tenants.made()
    tenants.drop('a')
    tenants.declare('a', { spec: { ...people, users: [user('eve')] } })
    await tenants.pass()
    expect(tenants.trouble('a')).toEqual([
      'NamespaceReady: FormerTerminating',
      ...['AccessReady: Waiting', 'Ready: FormerTerminating'],
    ])
    expect(tenants.names().filter(name => /a\/lns-(dev|sudo)|:(edit|sudo):/.test(name))).toEqual([])
    // Its bounds stay to the end.
    expect(tenants.names()).toContain('NetworkPolicy a/lns-platform')
    tenants.collect()
    await tenants.pass()
    expect([tenants.isReady('a'), users()]).toEqual([true, ['eve']])
  })

  test('keeps no right while it is deleted, though a finalizer holds it up', async () => {
    tenants.replica()
    await tenants.made()
    tenants.declare('a', { spec: people, metadata: { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] } })
    await tenants.pass()
    noRights()
    expect(tenants.names()).toEqual(['Namespace a', 'NetworkPolicy a/lns-platform'])
  })

  test('leaves all its objects when it is deleted with its dependents left behind', async () => {
    tenants.replica()
    await tenants.made()
    tenants.declare('a', { spec: people, metadata: { deletionTimestamp: 'now', finalizers: ['orphan'] } })
    await tenants.pass()
    expect(tenants.written()).toEqual([])
  })

  test.each(['Namespace', 'ResourceQuota', 'NetworkPolicy', 'RoleBinding'])(
    'gets its %s as it was, when others change it',
    async kind => {
      tenants.replica()
      await tenants.made('a', { ...people, platform: { quota: { pods: '5' } } })
      const name = { Namespace: 'a', RoleBinding: 'lns-developer' }[kind] ?? 'lns-platform'
      const found = tenants.get(kind, name, kind === 'Namespace' ? undefined : 'a')!
      const evil = {
        ...found,
        ...(kind === 'RoleBinding'
          ? { subjects: [...(found.subjects as object[]), user('eve')] }
          : { spec: { hard: { pods: '500' } } }),
        metadata: {
          ...found.metadata,
          labels: { ...found.metadata.labels, 'pod-security.kubernetes.io/enforce': 'privileged' },
        },
      }
      tenants.api.put(kind === 'Namespace' ? { ...evil, spec: found.spec } : evil)
      await tenants.pass()
      const { metadata: after, ...rest } = tenants.get(kind, name, kind === 'Namespace' ? undefined : 'a')!
      expect(rest).toEqual({ ...found, metadata: undefined })
      if (kind === 'Namespace') expect(after.labels).toEqual(found.metadata.labels)
    },
  )

  test('leaves labels and annotations of others on its Namespace', async () => {
    tenants.replica()
    await tenants.made()
    const found = tenants.get('Namespace', 'a')!
    const labels = {
      ...found.metadata.labels,
      'cost/centre': '7',
      'pod-security.kubernetes.io/enforce-version': 'v1.0',
    }
    tenants.api.put({ ...found, metadata: { ...found.metadata, labels, annotations: { note: 'kept' } } })
    await tenants.pass()
    expect(tenants.get('Namespace', 'a')!.metadata).toMatchObject({
      labels: { ...found.metadata.labels, 'cost/centre': '7' },
      annotations: { note: 'kept' },
    })
    expect(tenants.get('Namespace', 'a')!.metadata.labels).not.toHaveProperty([
      'pod-security.kubernetes.io/enforce-version',
    ])
  })
})

test('the use of a quota, and the phase of a namespace, ask for no look', async () => {
  const { world } = tenants.replica()
  await tenants.made('a', { ...people, platform: { quota: { pods: '5' } } })
  const keys: string[] = []
  for (const { watch, keysOf } of tenantKind(world).sources) {
    watch.on(change => keys.push(...[...keysOf(change)].map(({ key }) => key)))
  }
  for (const found of [tenants.get('ResourceQuota', 'lns-platform', 'a')!, tenants.get('Namespace', 'a')!]) {
    tenants.api.put({ ...found, status: { used: { pods: '1' }, phase: 'Active' } } as never)
  }
  expect(keys).toEqual([])
  const found = tenants.get('ResourceQuota', 'lns-platform', 'a')!
  tenants.api.put({ ...found, spec: { hard: { pods: '9' } } } as never)
  expect(keys).toEqual(['a'])
})

test('a label that the configuration does not open is not set, and costs nobody a right', async () => {
  tenants.replica()
  await tenants.made('a', {
    ...people,
    namespaceLabelOverrides: { 'pod-security.kubernetes.io/enforce': 'privileged', team: 'red' },
  })
  expect(tenants.get('Namespace', 'a')!.metadata.labels).toMatchObject({
    'pod-security.kubernetes.io/enforce': 'baseline',
  })
  expect(tenants.get('Namespace', 'a')!.metadata.labels).not.toHaveProperty('team')
  expect(JSON.stringify(tenants.get('LNamespace', 'a')!.status)).toContain(
    'the labels pod-security.kubernetes.io/enforce, team',
  )
})
