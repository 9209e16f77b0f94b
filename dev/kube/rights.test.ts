import { expect, test } from 'vitest'
import { grantedRights, readGranted, reportRights, rightOf, rightsByClusterRole } from './rights.ts'

const request = {
  verb: 'create',
  user: { username: 'system:serviceaccount:skylab:skylab' },
  userAgent: 'skylab/0.1.0 (replica=replica-1)',
  objectRef: { resource: 'networkpolicies', apiGroup: 'networking.k8s.io' },
  annotations: { 'authorization.k8s.io/decision': 'allow' },
}
const rightFor = (changes: object = {}) => rightOf(JSON.stringify({ ...request, ...changes }))

test('rightOf returns group, resource and verb of a request', () => {
  expect(rightFor()).toBe('networking.k8s.io/networkpolicies create')
  expect(rightFor({ verb: 'watch', objectRef: { resource: 'pods' } })).toBe('/pods watch')
  expect(rightFor({ objectRef: { resource: 'pods', subresource: 'exec' } })).toBe('/pods/exec create')
})

test.each([
  ['by somebody else', { user: { username: 'admin' }, sourceIPs: ['system:serviceaccount:skylab:skylab'] }],
  ['with its token, by a test', { userAgent: 'node' }],
  ['by an administrator in its name', { impersonatedUser: { username: 'system:serviceaccount:skylab:skylab' } }],
  ['without being let in', { annotations: { 'authorization.k8s.io/decision': 'forbid' } }],
  ['for no resource', { objectRef: undefined }],
])('rightOf ignores a request %s', (_, changes) => {
  expect(rightFor(changes)).toBeUndefined()
})

test('rightOf tells the account of tenants from that of labs', () => {
  const username = 'system:serviceaccount:skylab:skylab-tenants'
  const line = JSON.stringify({ ...request, user: { username } })
  expect([rightOf(line), rightOf(line, 'tenants')]).toEqual([undefined, 'networking.k8s.io/networkpolicies create'])
  expect(rightOf(JSON.stringify(request), 'tenants')).toBeUndefined()
})

test('rightOf counts an account of notebooks in any namespace', () => {
  const by = (username: string) => rightOf(JSON.stringify({ ...request, user: { username } }), 'notebooks')
  expect(by('system:serviceaccount:nbs-1:skylab-notebooks')).toBe('networking.k8s.io/networkpolicies create')
  expect([by('system:serviceaccount:skylab:skylab'), by('skylab-notebooks')]).toEqual([undefined, undefined])
})

test('grantedRights returns the rights of the account of tenants, without those of people', async () => {
  const granted = await grantedRights('tenants')
  expect(granted).toEqual(expect.arrayContaining(['gial.lblw.dev/lnamespaces create', '/namespaces patch']))
  expect(granted).not.toContain('/namespaces delete')
  expect(new Set(granted).size).toBe(granted.length)
})

test('grantedRights returns the rights of the account of notebooks: three kinds, two of which it changes', async () => {
  const granted = await grantedRights('notebooks')
  expect(granted.filter(right => !/ (get|list|watch)$/.test(right))).toEqual([
    'kubeflow.org/notebooks patch',
    'apps/statefulsets patch',
  ])
  expect(new Set(granted.map(right => right.split(' ')[0]))).toEqual(
    new Set(['kubeflow.org/notebooks', 'apps/statefulsets', '/pods']),
  )
})

test('grantedRights returns the rights of the account of apps, also those to templates, without those of people', async () => {
  const granted = await grantedRights('apps')
  expect(granted).toEqual(expect.arrayContaining(['/pods/log get', 'primehub.io/phapptemplates delete']))
  expect(new Set(granted).size).toBe(granted.length)
})

test('reportRights names a right that nothing has used', () => {
  const usages = { test: { '/pods get': 12, '/pods list': 3 }, 'in-cluster': { '/pods get': 1 } }
  const { table, unused } = reportRights(['/pods get', '/pods list', '/secrets delete'], usages)
  expect(unused).toEqual(['/secrets delete'])
  expect(table.split('\n')).toEqual([
    'right            test  in-cluster',
    '/pods get          12           1',
    '/pods list          3           0',
    '/secrets delete     0           0',
  ])
})

test('reportRights does not call a right unused when only a policy asks for it', () => {
  expect(reportRights(['/pods get', 'skylab.dev/marks write'], { test: {} }).unused).toEqual(['/pods get'])
})

test('grantedRights returns all rights of k8s/base/rbac.yaml', async () => {
  const granted = await grantedRights()
  const some = ['/namespaces delete', '/events watch', '/secrets get', 'apps/daemonsets patch']
  expect(granted).toEqual(expect.arrayContaining(some))
  expect(new Set(granted).size).toBe(granted.length)
})

test('rightsByClusterRole shows the right for the policy in a role that older releases leave in place', async () => {
  const { 'skylab-marks': marks, skylab } = await rightsByClusterRole()
  expect(marks).toEqual(['skylab.dev/marks write'])
  expect(skylab).not.toContain('skylab.dev/marks write')
})

test('readGranted keeps the right to stamp pods apart from those of every installation', async () => {
  const { everywhere, ofIdle } = await readGranted()
  expect(ofIdle).toEqual(['/pods patch', 'metrics.k8s.io/pods list'])
  expect(everywhere).not.toContain('/pods patch')
})

test('readGranted limits the rights of a Role to its namespace', async () => {
  const { everywhere, within } = await readGranted()
  expect(Object.keys(within)).toEqual(['skylab'])
  expect(within.skylab).toContain('apps/daemonsets create')
  expect(everywhere.filter(right => right.startsWith('apps/'))).toEqual([])
})
