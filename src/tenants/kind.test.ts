/** What becomes of LNamespaces, by what stands on an API server in memory. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tenantKind } from './kind.ts'
import { Tenants } from './testing/replicas.ts'
import { group, settingsOf, user } from './testing/world.ts'
import { tenantParent } from './words.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const declared = { users: [user('ada')], managers: [user('max')], sudoers: [user('sue')] }

async function make(name = 'a', spec: object = declared): Promise<string> {
  const { metadata } = tenants.declare(name, { spec })
  await tenants.pass()
  expect(tenants.isReady(name)).toBe(true)
  tenants.written()
  return metadata.uid!
}

const sudo = () => tenants.subjects('ClusterRoleBinding', 'lns:sudo:a')
const users = () => tenants.subjects('RoleBinding', 'lns-developer', 'a')
const noRights = () => expect(tenants.names().filter(name => /Role/.test(name))).toEqual([])

describe('an LNamespace', () => {
  test('gets all objects of its table, each owned by it, and says so', async () => {
    tenants.replica()
    const uid = await make()
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
    await make()
    await tenants.pass(5_000)
    expect(tenants.written()).toEqual([])
    expect([...world.sights.namespaces.values()]).toHaveLength(1)
  })

  test('gets its namespace first, then what bounds it, then roles, and bindings last', async () => {
    tenants.replica()
    await tenants.declare('a', {
      spec: { ...declared, platform: { quota: { pods: '5' }, limits: { max: { cpu: '1' } } } },
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
    await make()
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

  test('without users or sudoers has no object for them', async () => {
    tenants.replica()
    await make('a', {})
    expect(tenants.names()).toEqual([
      ...['ClusterRole lns:edit:a', 'ClusterRoleBinding lns:edit:a', 'Namespace a', 'NetworkPolicy a/lns-platform'],
      'RoleBinding a/lns-sudoer',
    ])
  })

  test('that is deleted and made again gets nothing of its predecessor, whose rights go at once', async () => {
    tenants.replica()
    await make()
    tenants.drop('a')
    tenants.declare('a', { spec: { ...declared, users: [user('eve')] } })
    await tenants.pass()
    expect(tenants.trouble('a')).toEqual([
      'NamespaceReady: FormerTerminating',
      ...['AccessReady: Waiting', 'Ready: FormerTerminating'],
    ])
    expect(tenants.names().filter(name => /a\/lns-(dev|sudo)|:(edit|sudo):/.test(name))).toEqual([])
    // What bounded it bounds it to the end.
    expect(tenants.names()).toContain('NetworkPolicy a/lns-platform')
    tenants.collect()
    await tenants.pass()
    expect([tenants.isReady('a'), users()]).toEqual([true, ['eve']])
  })

  test('that is being deleted keeps no right, though a finalizer holds it up', async () => {
    tenants.replica()
    await make()
    tenants.declare('a', { spec: declared, metadata: { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] } })
    await tenants.pass()
    noRights()
    expect(tenants.names()).toEqual(['Namespace a', 'NetworkPolicy a/lns-platform'])
  })

  test('that is deleted with its dependents left behind leaves all of them', async () => {
    tenants.replica()
    await make()
    tenants.declare('a', { spec: declared, metadata: { deletionTimestamp: 'now', finalizers: ['orphan'] } })
    await tenants.pass()
    expect(tenants.written()).toEqual([])
  })

  test.each(['Namespace', 'ResourceQuota', 'NetworkPolicy', 'RoleBinding'])(
    'gets its %s as it was, when others change it',
    async kind => {
      tenants.replica()
      await make('a', { ...declared, platform: { quota: { pods: '5' } } })
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
    await make()
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
  await make('a', { ...declared, platform: { quota: { pods: '5' } } })
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
  await make('a', {
    ...declared,
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

describe('an LNamespace that is not accepted', () => {
  test.each([
    ['kube-system', 'Reserved', {}],
    ['nublado-ada', 'Reserved', {}],
    ['a.b', 'Invalid', {}],
    ['a', 'Invalid', { users: [group('system:authenticated')] }],
  ])('as %s is %s, and gets nothing', async (name, reason, spec) => {
    tenants.replica()
    tenants.declare(name, { spec: { ...declared, ...spec } })
    await tenants.pass()
    expect(tenants.names()).toEqual([])
    expect(tenants.trouble(name)[0]).toBe(`Accepted: ${reason}`)
    expect(tenants.trouble(name)).toContain(`Ready: ${reason}`)
  })

  test('any more loses its rights, and keeps its namespace with what bounds it', async () => {
    tenants.replica()
    await make()
    tenants.declare('a', { spec: { ...declared, users: [user('system:admin')] } })
    await tenants.pass()
    noRights()
    expect(tenants.names()).toEqual(['Namespace a', 'NetworkPolicy a/lns-platform'])
  })

  test('beyond the limit of its requester waits until another one is gone', async () => {
    tenants.replica(settingsOf({ maxPerUser: 1, unlimitedRequesters: ['gitops'] }))
    const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })
    tenants.declare('a', { requester: 'eve', metadata: at(1) })
    tenants.declare('b', { requester: 'eve', metadata: at(2) })
    tenants.declare('c', { requester: 'gitops', metadata: at(1) })
    tenants.declare('d', { requester: 'gitops', metadata: at(2) })
    await tenants.pass()
    expect(['a', 'b', 'c', 'd'].filter(name => tenants.isReady(name))).toEqual(['a', 'c', 'd'])
    expect(tenants.trouble('b')[0]).toBe('Accepted: TooMany')
    tenants.drop('a')
    await tenants.pass()
    expect(tenants.isReady('b')).toBe(true)
  })

  test('keeps what it has when the limit is lowered', async () => {
    const { world } = tenants.replica(settingsOf({ maxPerUser: 2 }))
    tenants.declare('a', { requester: 'eve' })
    tenants.declare('b', { requester: 'eve' })
    await tenants.pass()
    await tenants.stop()
    tenants.replica(settingsOf({ maxPerUser: 1 }))
    await tenants.pass()
    expect([tenants.isReady('a'), tenants.isReady('b')]).toEqual([true, true])
    expect([...world.sights.namespaces.values()]).toHaveLength(2)
  })
})

describe('what others have', () => {
  const foreign = (kind: string, name: string, more: object = {}, namespace?: string) =>
    tenants.api.put({
      apiVersion: kind === 'Namespace' ? 'v1' : 'rbac.authorization.k8s.io/v1',
      ...{ kind, metadata: { name, ...(namespace && { namespace }) }, ...more },
    } as never)

  test('a namespace is never adopted, and gives a conflict with no right', async () => {
    tenants.replica()
    const { metadata } = foreign('Namespace', 'a')
    tenants.declare('a', { spec: declared })
    await tenants.pass()
    expect(tenants.trouble('a')[0]).toBe('Accepted: Conflict')
    expect(tenants.names().filter(name => !name.includes('lns:self'))).toEqual(['Namespace a'])
    expect(tenants.get('Namespace', 'a')!.metadata).toEqual(metadata)
  })

  test.each([
    ['its own UID', true],
    ['another UID', false],
  ])('a namespace whose annotation has %s is adopted: %s', async (_, isAdopted) => {
    tenants.replica()
    const { metadata } = tenants.declare('a', { spec: declared })
    const annotations = { 'lns.skylab/adopt': isAdopted ? metadata.uid : 'other', note: 'kept' }
    foreign('Namespace', 'a', { metadata: { name: 'a', annotations } })
    await tenants.pass()
    expect(tenants.isReady('a')).toBe(isAdopted)
    expect(tenants.get('Namespace', 'a')!.metadata.annotations).toEqual(annotations)
    await tenants.pass(2_000)
    tenants.written()
    await tenants.pass(5_000)
    expect(tenants.written()).toEqual([])
  })

  test.each(['lns:edit:a', 'lns:sudo:a'])(
    'a role with the name %s gets no binding, and the tenant no right',
    async name => {
      tenants.replica()
      foreign('ClusterRole', name, { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })
      const bound: string[] = []
      tenants.api.onWrite = (verb, { kind, name }) => {
        if (verb === 'create' && kind.endsWith('Binding') && !name.includes('self')) bound.push(name)
      }
      tenants.declare('a', { spec: declared })
      await tenants.pass()
      expect(bound).toEqual([])
      expect(tenants.trouble('a')[0]).toBe('Accepted: Conflict')
      expect(tenants.get('ClusterRole', name)!.metadata.ownerReferences).toBeUndefined()
    },
  )

  test('a role that takes the place of ours costs the tenant its rights', async () => {
    tenants.replica()
    await make()
    tenants.api.remove({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'lns:edit:a' })
    foreign('ClusterRole', 'lns:edit:a', { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })
    await tenants.pass(2_000)
    expect(tenants.names().filter(name => /Binding/.test(name) && !name.includes('self'))).toEqual([])
  })

  test('a role of a sudoer with the wanted name gets no binding, and his tenant says so', async () => {
    tenants.replica()
    foreign('ClusterRole', 'lns:self:sue', { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })
    tenants.declare('a', { spec: declared })
    await tenants.pass()
    expect(tenants.names()).not.toContain('ClusterRoleBinding lns:self:sue')
    expect(tenants.trouble('a')).toEqual(['AccessReady: Waiting', 'Ready: Waiting'])
  })

  const gift = (name: string, namespace?: string) =>
    foreign(namespace ? 'RoleBinding' : 'ClusterRoleBinding', name, { subjects: [group('a-sudoers')] }, namespace)

  test.each([undefined, 'elsewhere'])(
    'a binding that names the group already lets nobody begin (in %s)',
    async namespace => {
      tenants.replica()
      gift('left', namespace)
      tenants.declare('a', { spec: declared })
      await tenants.pass()
      expect(tenants.trouble('a')[0]).toBe('Accepted: Conflict')
      expect(tenants.names().filter(name => /Namespace|:(edit|sudo):/.test(name))).toEqual([])
      tenants.api.put({
        ...tenants.get(namespace ? 'RoleBinding' : 'ClusterRoleBinding', 'left', namespace)!,
        subjects: [],
      } as never)
      await tenants.pass()
      expect(tenants.isReady('a')).toBe(true)
    },
  )

  test('a binding that names the group of a living tenant is its own affair', async () => {
    tenants.replica()
    await make()
    gift('later')
    await tenants.pass()
    expect(tenants.isReady('a')).toBe(true)
    expect(tenants.written()).toEqual([])
  })

  test('bindings that people of the tenant made are left alone', async () => {
    tenants.replica()
    await make()
    foreign('RoleBinding', 'robot', { subjects: [user('bob')] }, 'a')
    await tenants.pass()
    expect(tenants.subjects('RoleBinding', 'robot', 'a')).toEqual(['bob'])
    expect(tenants.written()).toEqual([])
  })
})

describe('without admission policies', () => {
  beforeEach(() => tenants.replica())
  const missing = 'the policies are missing'

  test('nothing is made', async () => {
    tenants.guard(missing)
    tenants.declare('a', { spec: declared })
    await tenants.pass()
    expect(tenants.names()).toEqual([])
    expect(tenants.trouble('a')[0]).toBe('Accepted: PolicyMissing')
    tenants.guard(undefined)
    await tenants.pass()
    expect(tenants.isReady('a')).toBe(true)
  })

  test('revocations go on, and nothing is granted', async () => {
    await make()
    tenants.guard(missing)
    tenants.declare('a', { spec: { users: [user('eve')], managers: [], sudoers: [] } })
    await tenants.pass()
    expect(users()).toEqual([])
    expect(tenants.names().filter(name => /lns:(self|sudo)/.test(name))).toEqual([])
    expect(tenants.subjects('ClusterRoleBinding', 'lns:edit:a')).toEqual(['a-sudoers'])
  })

  test('nothing that bounds a tenant is loosened', async () => {
    await make('a', { ...declared, platform: { quota: { pods: '5' }, podSecurity: 'restricted' } })
    tenants.guard(missing)
    const loose = { quota: { pods: '500' }, podSecurity: 'privileged', network: 'open' }
    tenants.declare('a', { spec: { ...declared, platform: loose } })
    await tenants.pass()
    expect(tenants.get('ResourceQuota', 'lns-platform', 'a')?.spec).toEqual({ hard: { pods: '5' } })
    expect(tenants.get('NetworkPolicy', 'lns-platform', 'a')).toBeDefined()
    expect(tenants.get('Namespace', 'a')?.metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
    })
    tenants.guard(undefined)
    await tenants.pass()
    expect(tenants.get('NetworkPolicy', 'lns-platform', 'a')).toBeUndefined()
    expect(tenants.isReady('a')).toBe(true)
  })
})

describe('a user who is sudoer', () => {
  test('of several tenants has one role, which ends with the last of them', async () => {
    tenants.replica()
    const first = await make('a')
    const second = await make('b')
    const owners = () => tenants.get('ClusterRole', 'lns:self:sue')?.metadata.ownerReferences?.map(({ uid }) => uid)
    expect(owners()?.toSorted()).toEqual([first, second].toSorted())
    tenants.drop('a')
    await tenants.pass()
    expect(owners()).toEqual([second])
    tenants.declare('b', { spec: {} })
    await tenants.pass()
    expect(tenants.names().filter(name => name.includes('lns:self'))).toEqual([])
  })

  test.each(['a.b@x', 'a-b@x', 'corp/ada', '50%', 'x=2Fy', 'Ünïcode 名'])(
    'as %s has objects of his own',
    async name => {
      tenants.replica()
      await make('a', { sudoers: [user(name), user('other')] })
      const role = [...tenants.api.objects.values()].find(
        ({ kind, rules }) => kind === 'ClusterRole' && JSON.stringify(rules).includes(JSON.stringify([name])),
      )!
      expect(tenants.subjects('ClusterRoleBinding', role.metadata.name)).toEqual([name])
    },
  )

  test('of a tenant that is deleted with its dependents left behind keeps his role', async () => {
    tenants.replica()
    await make()
    tenants.declare('a', { spec: declared, metadata: { deletionTimestamp: 'now', finalizers: ['orphan'] } })
    await tenants.pass()
    expect(tenants.names()).toContain('ClusterRole lns:self:sue')
  })
})

describe('sudo with an end', () => {
  const spec = { sudo: { eligible: [user('ann')] } }
  const until = (ms: number) => new Date(tenants.clock.wallMs() + ms).toISOString()
  const granting = (ms: number, more: object = spec, who = 'ann') =>
    tenants.declare('a', { spec: more, status: { grants: [{ id: '1', user: who, until: until(ms), reason: 'r' }] } })

  beforeEach(() => tenants.replica())

  test('is given by a grant in the status, and ends by itself within a second', async () => {
    granting(10_000)
    await tenants.pass(1_000)
    expect([sudo(), tenants.isReady('a')]).toEqual([['ann'], true])
    await tenants.pass(8_900)
    expect(sudo()).toEqual(['ann'])
    await tenants.pass(1_000)
    expect(sudo()).toBeUndefined()
    expect(tenants.names().filter(name => name.includes('lns:self'))).toEqual([])
    expect(tenants.get('LNamespace', 'a')?.status).not.toHaveProperty('grants')
  })

  test('ends at once when its grant is taken out of the status', async () => {
    granting(10_000)
    await tenants.pass()
    tenants.declare('a', { spec, status: {} })
    await tenants.pass(200)
    expect([sudo(), tenants.names().filter(name => name.includes('lns:self'))]).toEqual([undefined, []])
  })

  test.each([
    ['lasts longer than any may', 28_801_000, spec, 'ann'],
    ['is over', -1_000, spec, 'ann'],
    ['comes where nobody is eligible', 10_000, {}, 'ann'],
    ['names a user of the cluster', 10_000, spec, 'system:admin'],
  ])('is not given by a grant that %s', async (_, ms, more, who) => {
    granting(ms, more, who)
    await tenants.pass()
    expect(sudo()).toBeUndefined()
    expect(tenants.names().filter(name => name.includes('lns:self'))).toEqual([])
  })

  test('leaves who is sudoer anyway as he is', async () => {
    granting(1_000, { ...spec, sudoers: [user('ann')] })
    await tenants.pass(3_000)
    expect(sudo()).toEqual(['ann'])
  })
})
