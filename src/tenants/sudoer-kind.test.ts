/** Rights to become root of a namespace, and their ends. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sudoerKind } from './sudoer-kind.ts'
import { people, Tenants } from './testing/replicas.ts'
import { settingsOf, user } from './testing/world.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const sudo = () => tenants.subjects('ClusterRoleBinding', 'lns:sudo:a')

describe('a user who is sudoer', () => {
  test('has one role for several tenants, which ends with the last of them', async () => {
    tenants.replica()
    const first = await tenants.made('a')
    const second = await tenants.made('b')
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
      await tenants.made('a', { sudoers: [user(name), user('other')] })
      const role = [...tenants.api.objects.values()].find(
        ({ kind, rules }) => kind === 'ClusterRole' && JSON.stringify(rules).includes(JSON.stringify([name])),
      )!
      expect(tenants.subjects('ClusterRoleBinding', role.metadata.name)).toEqual([name])
    },
  )

  test('has no role when his tenant gets no namespace, until it gets one', async () => {
    tenants.replica(settingsOf({ maxPerUser: 1 }))
    const mine = { requester: 'eve', spec: people }
    tenants.declare('a', mine)
    await tenants.pass()
    tenants.declare('b', { ...mine, spec: { sudoers: [user('sam')] } })
    await tenants.pass()
    const role = () => tenants.names().includes('ClusterRole lns:self:sam')
    expect([role(), tenants.names().includes('ClusterRole lns:self:sue')]).toEqual([false, true])
    tenants.drop('a')
    tenants.collect()
    await tenants.pass()
    expect(role()).toBe(true)
  })

  test('is looked at urgently when the Namespace goes or changes its owner, and not when it comes', async () => {
    const { world } = tenants.replica()
    await tenants.made()
    const source = sudoerKind(world).sources.find(({ watch }) => watch.kind === 'Namespace')!
    const value = source.watch.get('a')!
    const previous = { ...value, owners: [] }
    const common = { namespace: undefined, name: 'a', value }
    const urgent = ([{ type: 'put' }, { type: 'put', previous }, { type: 'gone' }] as const).flatMap(change =>
      [...source.keysOf({ ...common, ...change } as never)].map(poke => poke.urgent),
    )
    expect(urgent).toEqual([false, true, true])
  })

  test('keeps his role when his tenant is deleted with its dependents left behind', async () => {
    tenants.replica()
    await tenants.made()
    tenants.declare('a', { spec: people, metadata: { deletionTimestamp: 'now', finalizers: ['orphan'] } })
    await tenants.pass()
    const namespace = tenants.get('Namespace', 'a')!
    // As the garbage collector leaves it, just before the LNamespace is gone.
    tenants.api.put({ ...namespace, metadata: { ...namespace.metadata, ownerReferences: [] } })
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

  test('ends for a sudoer of another tenant too', async () => {
    await tenants.made('b', { sudoers: [user('ann')] })
    granting(2_000)
    await tenants.pass(1_000)
    expect(sudo()).toEqual(['ann'])
    await tenants.pass(1_500)
    expect([sudo(), tenants.subjects('ClusterRoleBinding', 'lns:sudo:b')]).toEqual([undefined, ['ann']])
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

  test('changes nothing for a user who is sudoer anyway', async () => {
    granting(1_000, { ...spec, sudoers: [user('ann')] })
    await tenants.pass(3_000)
    expect(sudo()).toEqual(['ann'])
  })
})
