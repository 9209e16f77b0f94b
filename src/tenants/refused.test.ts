/** LNamespaces that are not accepted, and what goes on without admission policies. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { people, Tenants } from './testing/replicas.ts'
import { group, settingsOf, user } from './testing/world.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const users = () => tenants.subjects('RoleBinding', 'lns-developer', 'a')
const noRights = () => expect(tenants.names().filter(name => /Role/.test(name))).toEqual([])

describe('an LNamespace that is not accepted', () => {
  test.each([
    ['kube-system', 'Reserved', {}],
    ['nublado-ada', 'Reserved', {}],
    ['a.b', 'Invalid', {}],
    ['a', 'Invalid', { users: [group('system:authenticated')] }],
  ])('as %s is %s, and gets nothing', async (name, reason, spec) => {
    tenants.replica()
    tenants.declare(name, { spec: { ...people, ...spec } })
    await tenants.pass()
    expect(tenants.names()).toEqual([])
    expect(tenants.trouble(name)[0]).toBe(`Accepted: ${reason}`)
    expect(tenants.trouble(name)).toContain(`Ready: ${reason}`)
  })

  test('loses its rights when it was accepted before, and keeps its namespace with its bounds', async () => {
    tenants.replica()
    await tenants.made()
    tenants.declare('a', { spec: { ...people, users: [user('system:admin')] } })
    await tenants.pass()
    noRights()
    expect(tenants.names()).toEqual(['Namespace a', 'NetworkPolicy a/lns-platform'])
  })

  test('waits beyond the limit of its requester until another one is gone', async () => {
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

describe('without admission policies', () => {
  beforeEach(() => tenants.replica())
  const missing = 'the policies are missing'

  test('nothing is made', async () => {
    tenants.guard(missing)
    tenants.declare('a', { spec: people })
    await tenants.pass()
    expect(tenants.names()).toEqual([])
    expect(tenants.trouble('a')[0]).toBe('Accepted: PolicyMissing')
    tenants.guard(undefined)
    await tenants.pass()
    expect(tenants.isReady('a')).toBe(true)
  })

  test('revocations go on, and nothing is granted', async () => {
    await tenants.made()
    tenants.guard(missing)
    tenants.declare('a', { spec: { users: [user('eve')], managers: [], sudoers: [] } })
    await tenants.pass()
    expect(users()).toEqual([])
    expect(tenants.names().filter(name => /lns:(self|sudo)/.test(name))).toEqual([])
    expect(tenants.subjects('ClusterRoleBinding', 'lns:edit:a')).toEqual(['a-sudoers'])
  })

  test('nothing that bounds a tenant is loosened', async () => {
    await tenants.made('a', { ...people, platform: { quota: { pods: '5' }, podSecurity: 'restricted' } })
    tenants.guard(missing)
    const loose = { quota: { pods: '500' }, podSecurity: 'privileged', network: 'open' }
    tenants.declare('a', { spec: { ...people, platform: loose } })
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

describe('while another installation serves tenants', () => {
  beforeEach(() => tenants.replica())

  test('nothing is written, not even a revocation or a status', async () => {
    await tenants.made()
    tenants.giveTo('observatory')
    tenants.declare('a', { spec: { users: [user('eve')], managers: [], sudoers: [] } })
    tenants.declare('b', { spec: people })
    await tenants.pass(60_000)
    expect(tenants.written()).toEqual([])
    expect([users(), tenants.trouble('b')]).toEqual([['ada'], []])
  })

  test('each installation has the tenants that it is given, and the other leaves them', async () => {
    await tenants.made()
    tenants.replica({ ...settingsOf(), installation: 'observatory' })
    tenants.giveTo('observatory')
    tenants.declare('b', { spec: people })
    await tenants.pass()
    expect(tenants.isReady('b')).toBe(true)
    expect(tenants.get('Namespace', 'b')?.metadata.labels).toMatchObject({ 'lns.skylab/installation': 'observatory' })
  })
})
