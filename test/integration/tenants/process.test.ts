/** Two processes that serve tenants: what people may do by the API server's own word, and by their own requests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Postgres } from '../../../dev/postgres/postgres.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { selfName } from '../../../src/tenants/names.ts'
import { guards } from '../../../src/tenants/probes.ts'
import { tenantAnnotations, tenantGroup, tenantParent } from '../../../src/tenants/words.ts'
import { billingConfig, billsIn, startBills } from '../../kit/billing/postgres.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { testBed } from '../../kit/testbed.ts'
import { Person } from './people.ts'
import { TenantFleet } from './tenant-fleet.ts'

let fleet: TenantFleet
let postgres: Postgres
/** With bills, so that all other tests show that these keep nothing from being done. */
beforeAll(async () => {
  const { stateDir } = testBed()
  postgres = await startBills({ stateDir })
  const defaults = [{ groups: ['physics'], billing: { fund: 'physics' } }, { billing: { fund: 'common' } }]
  fleet = await TenantFleet.start(2, { tenants: { billing: { ...billingConfig(postgres, stateDir), defaults } } })
})
afterAll(async () => {
  await fleet.stop()
  await postgres.stop()
})

const user = (name: string) => ({ kind: 'User', name })
const [ada, max, sue, eve] = ['ada', 'max', 'sue', 'eve'].map(user) as [object, object, object, object]
const people = { users: [ada], managers: [max], sudoers: [sue] }
/** Limit for a right that outlives its wish. */
const revokedMs = 1_000

async function made(spec: object = people): Promise<string> {
  const name = await fleet.make(spec)
  await fleet.says(name, 'Ready', 'Ready')
  return name
}

const pods = (name: string, who = 'ada') => fleet.may(who, 'create', 'pods', { namespace: name })
const lns = (name: string, who: string) => fleet.may(who, 'patch', 'lnamespaces', { group: tenantGroup, name })

describe('an LNamespace', () => {
  test('gives each what it says, and nobody else anything', async () => {
    const name = await made({ ...people, platform: { quota: { pods: 5 }, limits: { max: { cpu: '1' } } } })
    expect(
      await Promise.all([
        pods(name),
        lns(name, 'ada'),
        fleet.may('ada', 'patch', 'namespaces', { namespace: name, name }),
      ]),
    ).toEqual([true, ...[false, false]])
    expect(await Promise.all([pods(name, 'max'), lns(name, 'max'), lns(`${name}x`, 'max')])).toEqual([
      false,
      true,
      false,
    ])
    expect(await Promise.all([pods(name, 'sue'), pods(name, 'eve'), lns(name, 'eve')])).toEqual([false, false, false])
    const namespace = await fleet.must('GET', `/api/v1/namespaces/${name}`)
    expect(namespace.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'baseline' })
    const { status } = await fleet.read(name)
    expect(status).toMatchObject({
      namespaceUID: namespace.metadata.uid,
      counts: { users: 1, managers: 1, sudoers: 1 },
    })
    for (const [path, kind] of [
      ['/api/v1', 'resourcequotas'],
      ['/api/v1', 'limitranges'],
      ['/apis/networking.k8s.io/v1', 'networkpolicies'],
    ]) {
      expect((await fleet.kube.request('GET', `${path}/namespaces/${name}/${kind}/lns-platform`)).status).toBe(200)
    }
  })

  test('takes a right away within a second of its edit', async () => {
    const name = await made()
    await fleet.edit(name, { users: [eve] })
    const ms = await fleet.untilNot(() => pods(name))
    expect(ms).toBeLessThan(revokedMs)
    await eventually('the right of another', () => pods(name, 'eve'))
  })

  test('that is deleted and made again gives its people what the new one says alone', async () => {
    const name = await made()
    const { metadata } = await fleet.must('GET', `/api/v1/namespaces/${name}`)
    await fleet.drop(name)
    await fleet.make({ users: [eve] }, name)
    expect(await fleet.untilNot(() => lns(name, 'max'))).toBeLessThan(revokedMs)
    await fleet.says(name, 'Ready', 'FormerTerminating')
    // The garbage collector looks for new kinds of resources each 30 s.
    await fleet.says(name, 'Ready', 'Ready', 120_000)
    expect((await fleet.must('GET', `/api/v1/namespaces/${name}`)).metadata.uid).not.toBe(metadata.uid)
    expect(await Promise.all([pods(name), pods(name, 'eve'), lns(name, 'max')])).toEqual([false, true, false])
  })

  test('of a reserved name is refused, and gets nothing where it was stored before the policies', async () => {
    const names = ['kube-system', 'default', 'nublado-ada']
    const make = (name: string) => fleet.make({ users: [eve], sudoers: [eve] }, name)
    await expect(make('kube-system')).rejects.toThrow('begins like names that are reserved')
    const namespaceOf = async (name: string) => (await fleet.kube.request('GET', `/api/v1/namespaces/${name}`)).body
    const before = await Promise.all(names.map(namespaceOf))
    for (const each of ['skylab-tenants-names', 'skylab-tenants-names-labs']) await fleet.unprotect(each)
    const made = async (name: string) => (await make(name).catch(() => undefined)) !== undefined
    for (const name of names) await eventually(`${name} is stored`, () => made(name))
    await fleet.protect()
    await Promise.all(names.map(name => fleet.says(name, 'Ready', 'Reserved')))
    expect(await Promise.all(names.map(namespaceOf))).toEqual(before)
    expect(await Promise.all(names.map(name => pods(name, 'eve')))).toEqual(names.map(() => false))
  })

  test('of many parts is made, edited and emptied by an account that its policy bounds', async () => {
    const odd = ['Ada=B/C%2F:d@example.org', 'x-sudoers', 'лёва'].map(user)
    const robot = { kind: 'ServiceAccount', namespace: 'default', name: 'robot' }
    const crowd = Array.from({ length: 500 }, (_, i) => user(`p${i}`))
    const name = await made({
      ...{ users: [...odd, robot, { kind: 'Group', name: 'devs' }], managers: crowd, sudoers: odd },
      ...{ istioRevision: 'canary', namespaceLabelOverrides: { 'app.example.org/x': 'y' } },
      platform: { quota: { pods: 5 }, limits: { max: { cpu: '1' } }, podSecurity: 'restricted' },
    })
    const edits = [
      {
        users: odd.slice(1),
        managers: [robot],
        sudoers: odd.slice(2),
        platform: { network: 'open', quota: null, limits: null },
      },
      { users: [], managers: [], sudoers: [], istioRevision: null, namespaceLabelOverrides: null, platform: null },
      { ...people, platform: { quota: { pods: 7 } } },
    ]
    for (const spec of edits) {
      await fleet.edit(name, spec)
      await fleet.says(name, 'Ready', 'Ready')
    }
    expect(await Promise.all([pods(name), lns(name, 'max'), pods(name, odd[1]!.name)])).toEqual([true, true, false])
    // Removals are by names that the account's role lists, emptied objects pass the policy.
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const gone = [
      `/api/v1/namespaces/${name}/limitranges/lns-platform`,
      ...odd.map(each => `${rbac}/clusterroles/${encodeURIComponent(selfName(each.name))}`),
      ...odd.map(each => `${rbac}/clusterrolebindings/${encodeURIComponent(selfName(each.name))}`),
    ]
    for (const path of gone) {
      await eventually(`the end of ${path}`, async () => (await fleet.kube.request('GET', path)).status === 404)
    }
  })

  test('takes over the namespace of another that an administrator has marked, and no other', async () => {
    const name = `${fleet.name}-adopted`
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { kept: 'yes' } } }
    await fleet.must('POST', '/api/v1/namespaces', namespace)
    await fleet.make(people, name)
    await fleet.says(name, 'Ready', 'Conflict')
    const annotations = { 'lns.skylab/adopt': (await fleet.read(name)).metadata.uid }
    await fleet.must('PATCH', `/api/v1/namespaces/${name}`, { metadata: { annotations } })
    // Objects in conflict are read again every 30 s.
    await fleet.says(name, 'Ready', 'Ready', 60_000)
    const { metadata } = await fleet.must('GET', `/api/v1/namespaces/${name}`)
    expect(metadata.labels).toMatchObject({ kept: 'yes', 'lns.skylab/of': name })
    expect(await pods(name)).toBe(true)
  })
})

describe('sudo', () => {
  const secrets = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`

  test('by impersonation is for the sudoer alone, in this namespace alone', async () => {
    const person = (name: string) => Person.make(`${name}-${fleet.name}`, fleet.stateDir)
    const [sudoer, stranger] = await Promise.all([person('sue'), person('eve')])
    const name = await made({ users: [ada], sudoers: [user(sudoer.name)] })
    const root = { user: sudoer.name, group: `${name}-sudoers` }
    const codes = async (who: Person, as?: typeof root, namespace = name) =>
      (await who.request('GET', secrets(namespace), as)).status
    expect(await codes(sudoer)).toBe(403)
    await eventually('sudo', async () => (await codes(sudoer, root)) === 200)
    expect(await codes(sudoer, root, 'default')).toBe(403)
    expect(await codes(sudoer, { ...root, user: 'ada' })).toBe(403)
    expect(await codes(sudoer, { ...root, group: 'system:masters' })).toBe(403)
    expect(await codes(stranger, root)).toBe(403)
    expect(await codes(stranger, { ...root, user: stranger.name })).toBe(403)
    await fleet.edit(name, { sudoers: [] })
    const begunMs = performance.now()
    await eventually('the end of sudo', async () => (await codes(sudoer, root)) === 403)
    expect(performance.now() - begunMs).toBeLessThan(revokedMs)
    for (const each of [sudoer, stranger]) each.close()
  })

  test('with an end ends by itself, within a second', async () => {
    const name = await made({ sudo: { eligible: [eve] } })
    const may = () => fleet.may('eve', 'impersonate', 'groups', { name: `${name}-sudoers` })
    const untilMs = Date.now() + 4_000
    const until = new Date(untilMs).toISOString()
    await fleet.setStatus(name, { grants: [{ id: '1', user: 'eve', until, reason: 'a test' }] })
    await eventually('a grant', may)
    await eventually('the end of a grant', async () => !(await may()))
    const lateMs = Date.now() - untilMs
    expect(lateMs).toBeGreaterThan(-100)
    expect(lateMs).toBeLessThan(revokedMs)
    await eventually('the status without it', async () => (await fleet.read(name)).status.grants === undefined)
  })
})

test('two replicas make all of it though one of them is killed, and a new one finds nothing to write', async () => {
  const names = await Promise.all(Array.from({ length: 20 }, (_, i) => fleet.make(people, `${fleet.name}-many-${i}`)))
  fleet.replicas[1]!.kill()
  await Promise.all(names.map(name => fleet.says(name, 'Ready', 'Ready')))
  await fleet.ready()
  // The second time nothing is left to do: the first time the leases of the dead one had to lapse.
  const { ended } = fleet.replicas[1]!
  fleet.replicas[1]!.kill()
  await ended
  await fleet.ready()
  const looked = async () => (await fleet.metric(1, 'skylab_reconcile_turns_total')) >= names.length
  await eventually('the new replica has looked', looked)
  expect(await fleet.metric(1, 'skylab_reconcile_writes_total')).toBe(0)
})

test('without Redis tenants are made and edited as ever, and a process stays ready and tells it', async () => {
  await fleet.redis.kill()
  const name = await made()
  await fleet.edit(name, { users: [eve] })
  expect(await fleet.untilNot(() => pods(name))).toBeLessThan(revokedMs)
  const { status, troubles = [] } = (await (await fetch(`${fleet.replicas[0]!.monitoringUrl}/readyz`)).json()) as {
    readonly status: string
    readonly troubles?: readonly string[]
  }
  expect([status, troubles.some(trouble => trouble.startsWith('Redis: '))]).toEqual(['ready', true])
  await fleet.redis.start()
})

test('without its policies a process grants nothing, and goes on to revoke', async () => {
  const name = await made()
  await fleet.unprotect(guards[0]!)
  const isActive = async (active: boolean) =>
    (await Promise.all([0, 1].map(i => fleet.metric(i, 'skylab_tenant_policy_active')))).every(
      each => each === Number(active),
    )
  await eventually('the loss is known', () => isActive(false))
  await fleet.edit(name, { users: [eve] })
  expect(await fleet.untilNot(() => pods(name))).toBeLessThan(revokedMs)
  await fleet.says(name, 'Accepted', 'PolicyMissing')
  expect(await pods(name, 'eve')).toBe(false)
  const other = await fleet.make(people)
  await fleet.says(other, 'Ready', 'PolicyMissing')
  expect((await fleet.kube.request('GET', `/api/v1/namespaces/${other}`)).status).toBe(404)
  await fleet.protect()
  await Promise.all([name, other].map(each => fleet.says(each, 'Ready', 'Ready')))
  expect(await pods(name, 'eve')).toBe(true)
})

test('with other settings than admission a process grants nothing, and says what differs', async () => {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/skylab-tenants-settings'
  const { rules } = (await fleet.must('GET', path)) as { rules?: readonly object[] }
  const more = { apiGroups: ['skylab.dev'], resources: ['labelprefixes'], resourceNames: ['x.org/'], verbs: ['use'] }
  await fleet.must('PATCH', path, { rules: [...(rules ?? []), more] })
  const troubles = () =>
    Promise.all(fleet.replicas.map(async ({ monitoringUrl }) => (await fetch(`${monitoringUrl}/readyz`)).text()))
  const words = 'labelprefixes x.org/ only in the role'
  await eventually('the difference is known', async () => (await troubles()).every(text => text.includes(words)))
  const name = await fleet.make(people)
  await fleet.says(name, 'Ready', 'PolicyMissing')
  await fleet.protect()
  await fleet.says(name, 'Ready', 'Ready')
})

describe('the bill of an LNamespace', () => {
  test('is in the table within seconds, with defaults by who asked, and follows edits until its end', async () => {
    const name = await made({ ...people, billing: { 'cost-center': '42' } })
    await fleet.says(name, 'Billed', 'Billed')
    expect(await billsIn(postgres, name)).toEqual([`${name}.cost-center=42`, `${name}.fund=common`])
    const { status } = await fleet.read(name)
    expect(status.billing).toEqual({ 'cost-center': '42', fund: 'common' })
    const namespace = await fleet.must('GET', `/api/v1/namespaces/${name}`)
    expect(JSON.parse(namespace.metadata.annotations![tenantAnnotations.billing]!)).toEqual(status.billing)

    await fleet.edit(name, { billing: { 'cost-center': null, fund: 'mine' } })
    await eventually('the edit', async () => (await billsIn(postgres, name)).join() === `${name}.fund=mine`)
    await fleet.says(name, 'Billed', 'Billed')
    expect((await fleet.read(name)).status.billing).toEqual({ fund: 'mine' })

    await fleet.drop(name)
    await eventually('the end', async () => (await billsIn(postgres, name)).length === 0)
    const log = await postgres.query(
      'SELECT generation::int, closed FROM tenant_billing_log WHERE ns_name = $1 ORDER BY logged_at',
      [name],
    )
    expect(log).toEqual([
      { generation: 1, closed: false },
      { generation: 2, closed: false },
      { generation: 2, closed: true },
    ])
  })

  test('is that of the group which admission noted of the requester, and nobody can claim another', async () => {
    const of = (groups: string[]) => ({ 'Impersonate-User': 'ada', 'Impersonate-Group': groups })
    const lns = (name: string, annotations = {}) => ({ ...tenantParent, metadata: { name, annotations }, spec: {} })
    const path = creationPath(tenantParent.apiVersion, tenantParent.kind)
    const name = `${fleet.name}-physics`
    const groups = ['chess', 'physics', 'system:masters']
    expect((await fleet.kube.request('POST', path, lns(name), of(groups))).status).toBe(201)
    await eventually('the bill', async () => (await billsIn(postgres, name)).join() === `${name}.fund=physics`)
    expect((await fleet.read(name)).metadata.annotations[tenantAnnotations.requesterGroups]).toBe('physics')

    const forged = lns(`${name}-2`, { [tenantAnnotations.requesterGroups]: 'physics' })
    const answer = await fleet.kube.request('POST', path, forged, of(['chess', 'system:masters']))
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining('must be groups of who asks')])
    const edit = { metadata: { annotations: { [tenantAnnotations.requesterGroups]: null } } }
    const change = await fleet.kube.request('PATCH', objectPath({ ...tenantParent, name }), edit)
    expect([change.status, change.body.message]).toEqual([403, expect.stringContaining('never changes')])
    await fleet.drop(name)
  })

  test('waits, and says so, while the database is away; nothing else does, and it heals by itself', async () => {
    await postgres.kill()
    const name = await made()
    await fleet.says(name, 'Billed', 'Unreachable')
    expect(await pods(name)).toBe(true)
    await postgres.start()
    await fleet.says(name, 'Billed', 'Billed')
    expect(await billsIn(postgres, name)).toEqual([`${name}.fund=common`])
  })
})
