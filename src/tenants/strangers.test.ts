/** Objects of others that have the names of a tenant's, or name its group. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { people, Tenants } from './testing/replicas.ts'
import { group, user } from './testing/world.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

describe('objects of others', () => {
  const foreign = (kind: string, name: string, more: object = {}, namespace?: string) =>
    tenants.api.put({
      apiVersion: kind === 'Namespace' ? 'v1' : 'rbac.authorization.k8s.io/v1',
      ...{ kind, metadata: { name, ...(namespace && { namespace }) }, ...more },
    } as never)

  test('a namespace is never adopted, and gives a conflict with no right', async () => {
    tenants.replica()
    const { metadata } = foreign('Namespace', 'a')
    tenants.declare('a', { spec: people })
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
    const { metadata } = tenants.declare('a', { spec: people })
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
      tenants.declare('a', { spec: people })
      await tenants.pass()
      expect(bound).toEqual([])
      expect(tenants.trouble('a')[0]).toBe('Accepted: Conflict')
      expect(tenants.get('ClusterRole', name)!.metadata.ownerReferences).toBeUndefined()
    },
  )

  test('a role that takes the place of ours costs the tenant its rights', async () => {
    tenants.replica()
    await tenants.made()
    tenants.api.remove({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'lns:edit:a' })
    foreign('ClusterRole', 'lns:edit:a', { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })
    await tenants.pass(2_000)
    expect(tenants.names().filter(name => /Binding/.test(name) && !name.includes('self'))).toEqual([])
  })

  test('a role of a sudoer with the wanted name gets no binding, and his tenant says so', async () => {
    tenants.replica()
    foreign('ClusterRole', 'lns:self:sue', { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })
    tenants.declare('a', { spec: people })
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
      tenants.declare('a', { spec: people })
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
    await tenants.made()
    gift('later')
    await tenants.pass()
    expect(tenants.isReady('a')).toBe(true)
    expect(tenants.written()).toEqual([])
  })

  test('bindings that people of the tenant made are left alone', async () => {
    tenants.replica()
    await tenants.made()
    foreign('RoleBinding', 'robot', { subjects: [user('bob')] }, 'a')
    await tenants.pass()
    expect(tenants.subjects('RoleBinding', 'robot', 'a')).toEqual(['bob'])
    expect(tenants.written()).toEqual([])
  })
})
