/** `skylab vet`, and replicas that compare: on a cluster of its own, since they look at all of its roles. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../kit/cluster/world.ts'
import { collectionOf, user } from '../../kit/tenants/objects.ts'
import { OwnCluster } from './own-cluster.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const extra = {
  metadata: { name: 'extra', labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' } },
  rules: [{ apiGroups: ['example.org'], resources: ['gadgets'], verbs: ['get'] }],
}

let own: OwnCluster
let folder: string
beforeAll(async () => {
  own = await OwnCluster.start(1, { vetting: { onUnvetted: 'freeze', intervalSeconds: 1 } })
  folder = mkdtempSync(join(own.stateDir, 'vet-'))
  writeFileSync(join(folder, 'skylab.yaml'), `run: [tenants]\nkubernetes: {kubeconfig: ${own.kubeconfig}}\n`)
})
afterAll(() => own?.close())

function vet(...args: string[]) {
  const command = ['src/main.ts', 'vet', '--config', join(folder, 'skylab.yaml'), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' })
  return { status, stdout, stderr }
}
const isIn = async (right: string) =>
  JSON.stringify((await own.kube.request('GET', `${roles}/admin`)).body.rules).includes(right)

test('skylab vet finds nothing on the version that is shipped as vetted', () => {
  const { status, stdout, stderr } = vet()
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^Kubernetes 1\.36 is as it was vetted: \d+ kinds, \d+ rights of admin\.\n$/)
})

test('a role that somebody adds to admin is found, and nothing is granted until it is vetted or gone', async () => {
  await own.make('before', { users: [user('ada'), user('bob')] })
  await own.says('before', 'Ready', 'Ready')
  await own.must('POST', roles, extra)
  await eventually('it is aggregated', () => isIn('gadgets'))
  const { status, stdout, stderr } = vet()
  expect([status, stderr]).toEqual([1, '2 differences to what was vetted\n'])
  expect(stdout).toBe('+ source of admin: extra (aggregated)\n+ right of admin: gadgets.example.org (get)\n')
  expect(JSON.parse(vet('--json').stdout)).toMatchObject({ kubernetes: '1.36', differences: [{}, {}] })

  await own.make('during', { users: [user('ada')] })
  await own.says('during', 'Accepted', 'Unvetted')
  expect(await own.find('RoleBinding', 'lns-developer', 'during')).toBeUndefined()
  await own.must('PATCH', `${collectionOf('LNamespace')}/before`, { spec: { users: [user('bob')] } })
  await eventually('ada is out', async () => !(await own.may('ada', 'create', 'pods', { namespace: 'before' })))
  expect(await own.may('bob', 'create', 'pods', { namespace: 'before' })).toBe(true)

  const file = join(folder, 'vetted.json')
  expect(vet('--write', file)).toEqual({ status: 0, stderr: '', stdout: expect.stringMatching(/^Recorded: /) })
  expect(vet('--against', file).status).toBe(0)
  await own.must('DELETE', `${roles}/extra`)
  await own.says('during', 'Ready', 'Ready')
  expect(vet('--against', file).stdout).toContain('- source of admin: extra')
})

test('skylab vet records no state in which users leave their namespaces', async () => {
  const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['delete'] }]
  await own.must('POST', roles, { ...extra, rules })
  await eventually('it is aggregated', () => isIn('"delete"],"apiGroups":[""],"resources":["namespaces"]'))
  const file = join(folder, 'never.json')
  const { status, stdout } = vet('--write', file)
  expect(status).toBe(1)
  expect(stdout).toContain('+ right of admin that no vetting allows: namespaces (delete)')
  expect(() => readFileSync(file)).toThrow('ENOENT')
  await own.must('DELETE', `${roles}/extra`)
})

test('skylab vet refuses a file that is no state, and options that exclude each other', () => {
  const file = join(folder, 'bad.json')
  writeFileSync(file, '{}')
  expect(vet('--against', file)).toMatchObject({ status: 2, stderr: expect.stringContaining('is not a state') })
  expect(vet('--against', file, '--write', file).status).toBe(2)
  expect(readFileSync(file, 'utf8')).toBe('{}')
})
