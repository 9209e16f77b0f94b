/** Each row of the table of bad input, sent for real: the answer, and what is left behind. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../kit/cluster/world.ts'
import { user } from '../../kit/tenants/objects.ts'
import { type Row, rows, senders } from './bad-input.cases.ts'
import { OwnCluster } from './own-cluster.ts'

let own: OwnCluster

beforeAll(async () => {
  own = await OwnCluster.start()
  const rules = [{ apiGroups: ['skylab.dev'], resources: ['prefixes'], resourceNames: ['nublado'], verbs: ['use'] }]
  await own.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'skylab-installation-labs', labels: { 'skylab.dev/installation': 'labs' } },
    rules,
  })
  await own.must('POST', '/api/v1/namespaces', { metadata: { name: 'theirs' } })
  const blue = { users: [user('uma')], managers: [user('max'), user('mia')], platform: { quota: { pods: '10' } } }
  // Ada may not grant herself a quota.
  await makeAs('ada', 'blue', { ...blue, platform: undefined })
  await own.edit('blue', { platform: blue.platform })
  await makeAs('ada', 'kept', { preventDeletion: true, managers: [user('max')], sudoers: [] })
  await makeAs('ada', 'third', {})
  for (const name of ['blue', 'kept', 'third']) await own.says(name, 'Ready', 'Ready')
  // The policies learn of a new installation of labs by a watch.
  const lab = { method: 'POST', path: '/apis/gial.lblw.dev/v1beta1/lnamespaces?dryRun=All' }
  const named = { apiVersion: 'gial.lblw.dev/v1beta1', kind: 'LNamespace', metadata: { name: 'nublado-x' } }
  await eventually('labs are known', async () => (await own.kube.request(lab.method, lab.path, named)).status === 403)
})
afterAll(() => own?.close())

async function makeAs(name: string, tenant: string, spec: object): Promise<void> {
  const body = { apiVersion: 'gial.lblw.dev/v1beta1', kind: 'LNamespace', metadata: { name: tenant }, spec }
  const path = '/apis/gial.lblw.dev/v1beta1/lnamespaces'
  const { status, body: answer } = await own.kube.request('POST', path, body, { 'Impersonate-User': name })
  if (status !== 201) throw new Error(answer.message)
}

function send({ by, ask }: Row) {
  const sender: { readonly name: string; readonly groups?: readonly string[] } = senders[by]
  const { method, path, body, query = '' } = ask()
  const groups = sender.groups ? { 'Impersonate-Group': [...sender.groups] } : {}
  return own.kube.request(method, path + query, body, { 'Impersonate-User': sender.name, ...groups })
}

const collections = [
  ...['lnamespaces'].map(plural => `/apis/gial.lblw.dev/v1beta1/${plural}`),
  ...['namespaces', 'resourcequotas', 'limitranges'].map(plural => `/api/v1/${plural}`),
  ...['clusterroles', 'clusterrolebindings', 'rolebindings'].map(
    plural => `/apis/rbac.authorization.k8s.io/v1/${plural}`,
  ),
  '/apis/networking.k8s.io/v1/networkpolicies',
]

/** All that a request can leave behind: names, UIDs, and what each object says. */
async function everything(): Promise<readonly string[]> {
  const lists = await Promise.all(collections.map(path => own.kube.list(path)))
  return lists.flat().map(({ metadata, spec, rules, subjects }) => {
    const { namespace, name, uid, labels, annotations, ownerReferences } = metadata
    const text = JSON.stringify([labels, annotations, ownerReferences, spec, rules, subjects])
    return `${namespace ?? ''}/${name} ${uid} ${text}`
  })
}

test.each(rows.filter(({ condition }) => !condition).map(row => [row.sent, row.by, row] as const))(
  'nothing is left behind when the API server gets %s (%s)',
  async (_sent, _by, row) => {
    const before = await everything()
    const { status, body } = await send(row)
    expect([status, body.message]).toEqual([row.answer[0], expect.stringContaining(row.answer[1]!)])
    expect(await everything()).toEqual(before)
  },
)

test.each(rows.filter(({ condition }) => condition).map(row => [row.sent, row] as const))(
  'nobody gets a right in a namespace, and a condition says why, when the API server accepts %s',
  async (_sent, row) => {
    const before = await everything()
    const { status, body } = await send(row)
    expect(status).toBe(row.answer[0])
    const { name } = body.metadata
    const [type, reason, words] = row.condition!
    await own.says(name, type, reason)
    const { conditions } = (await own.find('LNamespace', name)).status
    const found = conditions.find((each: { type: string }) => each.type === type)
    expect(found).toMatchObject({ status: 'False', message: expect.stringContaining(words) })
    // Nothing is new but the LNamespace.
    const isItself = (line: string) => line.startsWith(`/${name} `) && line.includes(body.metadata.uid)
    expect((await everything()).filter(line => !isItself(line))).toEqual(before)
    await own.drop(name)
    await eventually('as before', async () => (await everything()).join('\n') === before.join('\n'))
  },
)

test('a manager who edits himself out has no right within a second, and all others keep theirs', async () => {
  const edits = (who: string) => own.may(who, 'patch', 'lnamespaces', { group: 'gial.lblw.dev', name: 'blue' })
  expect(await Promise.all(['max', 'mia'].map(edits))).toEqual([true, true])
  const path = '/apis/gial.lblw.dev/v1beta1/lnamespaces/blue'
  const patch = (managers: readonly object[]) =>
    own.kube.request('PATCH', path, { spec: { managers } }, { 'Impersonate-User': 'max' })
  expect((await patch([user('mia')])).status).toBe(200)
  const begunMs = performance.now()
  await eventually('the end of his right', async () => !(await edits('max')))
  expect(performance.now() - begunMs).toBeLessThan(1_000)
  expect((await patch([user('max')])).status).toBe(403)
  await own.says('blue', 'Ready', 'Ready')
  expect(await edits('mia')).toBe(true)
  expect(await own.may('uma', 'create', 'pods', { namespace: 'blue' })).toBe(true)
})
