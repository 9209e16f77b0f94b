/**
 * Two processes that stop idle notebooks, with the account, the role and the policy of k8s/components/notebooks, on a cluster of
 * their own. The policy must not stand in the way of anything that they do.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { notebooksAccount, notebooksObjects } from '../../../dev/kube/notebooks.ts'
import { grantedRights, rightOf } from '../../../dev/kube/rights.ts'
import { type Redis, startRedis } from '../../../dev/redis/redis.ts'
import { type ConfigInput, writeConfig } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { stamps } from '../../../src/kube/labels.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { AuditLog } from '../../kit/evidence/audit.ts'
import { type Behaviour, FakeJupyter } from '../../kit/idle/fake-jupyter.ts'
import { account, NotebooksSite, notebook, pathOf, type WorkloadKind } from '../../kit/idle/notebooks-site.ts'
import { programOf } from '../../kit/program/program.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const idle: Behaviour = { kernels: [{ state: 'idle', lastMs: Date.parse('2026-01-01T00:00:00Z') }] }
const busy: Behaviour = { kernels: [{ state: 'busy', lastMs: 0 }] }
const times = [stamps.checked, stamps.lastActivity].toSorted()

let site: NotebooksSite
let redis: Redis
let replicas: readonly Replica[] = []
let start: (name: string) => Promise<Replica>
let audit: AuditLog

beforeAll(async () => {
  site = await NotebooksSite.start([], { audit: true })
  audit = new AuditLog(site.auditLog)
  const stateDir = join(site.stateDir, 'notebooks')
  mkdirSync(stateDir)
  redis = await startRedis({ stateDir })
  const config: ConfigInput = {
    ...{ run: ['notebooks'], api: { host: '127.0.0.1' }, redis: { url: redis.programUrl } },
    kubernetes: { kubeconfig: await site.kubeconfigOfAccount(), namespace: 'skylab' },
    times: { policyIntervalSeconds: 1 },
    idle: {
      ...{ enabled: true, checkPeriodSeconds: 1, probeTimeoutSeconds: 2, stampsPerSecond: 100 },
      rules: [{ name: 'quick', sources: ['kernels'], idleTimeoutSeconds: 3, warnSeconds: 0 }],
    },
  }
  const configFile = await writeConfig(stateDir, config, {})
  const release = await programOf(checkout, join(stateDir, 'program'))
  start = name => Replica.start({ ...release, stateDir, configFile, name })
  replicas = await Promise.all(['notebooks-1', 'notebooks-2'].map(start))
  await Promise.all(replicas.map(replica => replica.ready()))
})
afterAll(async () => {
  await Promise.all(replicas.map(replica => replica.stop()))
  await redis?.stop()
  await site?.close()
})

async function server(behaviour: Behaviour): Promise<FakeJupyter> {
  const jupyter = await FakeJupyter.start()
  onTestFinished(() => jupyter.stop())
  jupyter.behave(behaviour)
  return jupyter
}

const read = (kind: WorkloadKind, name: string) => site.must('GET', pathOf(kind, name))
const keysOf = async (kind: WorkloadKind, name: string) =>
  Object.keys((await read(kind, name)).metadata.annotations ?? {}).sort()
const has = (kind: WorkloadKind, name: string, keys: readonly string[]) =>
  eventually(`${name} has ${keys}`, async () => `${await keysOf(kind, name)}` === `${keys}`)
const hasReplicas = (name: string, count: number) =>
  eventually(`${name} has ${count} replicas`, async () => {
    const { spec } = (await read('StatefulSet', name)) as unknown as { spec: { replicas: number } }
    return spec.replicas === count
  })

test('a notebook is stamped at each look, and stopped with its stamp', async () => {
  const jupyter = await server(busy)
  const { metadata } = await site.must('POST', pathOf('Notebook'), notebook('ada', { annotations: { theirs: 'y' } }))
  const owner = { apiVersion: 'kubeflow.org/v1', kind: 'Notebook', name: 'ada', uid: metadata.uid, controller: true }
  await site.startSet('ada', { ownerReferences: [owner] }, jupyter.address)
  await has('Notebook', 'ada', [...times, 'theirs'])
  jupyter.behave(idle)
  await has('Notebook', 'ada', [stamps.stopped, 'theirs'])
})

test('a labelled StatefulSet is stopped, scaled, and started when its owner takes the stamp away', async () => {
  const jupyter = await server(idle)
  await site.startSet('bob', { labels: { 'user.skylab/idle': 'true' } }, jupyter.address)
  await hasReplicas('bob', 0)
  await has('StatefulSet', 'bob', [stamps.stopped])
  jupyter.behave(busy)
  await site.must('PATCH', pathOf('StatefulSet', 'bob'), { metadata: { annotations: { [stamps.stopped]: null } } })
  await hasReplicas('bob', 1)
  await site.runPod('bob', jupyter.address)
  await has('StatefulSet', 'bob', times)
})

test('a StatefulSet without the label is neither stamped nor asked', async () => {
  const jupyter = await server(idle)
  await site.startSet('redis', {}, jupyter.address)
  const another = await server(busy)
  await site.startSet('eve', { labels: { 'user.skylab/idle': 'true' } }, another.address)
  await another.untilAsked(3)
  expect([await keysOf('StatefulSet', 'redis'), jupyter.asked]).toEqual([[], []])
})

// About all that was sent before. The policy must refuse what the processes send to try it.
test('no request of the account was refused, and each of its rights was used', async () => {
  const sent = (await audit.all()).filter(
    ({ sender, userAgent }) => sender === account && userAgent.startsWith('skylab/') && !userAgent.endsWith(' policy'),
  )
  expect(sent.filter(({ verb, code }) => verb === 'patch' && code === 200).length).toBeGreaterThan(5)
  // 409: somebody else has written since the look, and it looks again.
  expect(sent.filter(({ code }) => code >= 400 && code !== 409)).toEqual([])
  const lines = (await audit.text()).trim().split('\n')
  const used = new Set(lines.map(line => rightOf(line, 'notebooks')))
  expect((await grantedRights('notebooks')).filter(right => !used.has(right))).toEqual([])
})

test('the policy is in force for the account that the processes have', async () => {
  const thief = await site.thief()
  onTestFinished(() => thief.close())
  const { body } = await thief.request('PATCH', pathOf('Notebook', 'ada'), { spec: { x: 'y' } })
  expect(body.message).toContain('it would change what the notebook is')
})

test('processes tell that the policy is taken away, and one that starts meanwhile is not ready', async () => {
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings'
  const binding = (await notebooksObjects()).find(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')!
  await site.must('DELETE', `${bindings}/${notebooksAccount}`)
  const words = 'the admission policy of notebooks is not at work'
  const served = async ({ monitoringUrl }: Replica, path: string) => (await fetch(`${monitoringUrl}${path}`)).text()
  const [first] = replicas
  await eventually('the metric', async () =>
    (await served(first!, '/metrics')).includes('\nskylab_notebook_policy_active 0\n'),
  )
  expect(await served(first!, '/readyz')).toContain(words)
  const late = await start('notebooks-late')
  onTestFinished(() => late.stop())
  await eventually('the late one', async () => (await served(late, '/readyz')).includes(words))
  expect((await fetch(`${late.monitoringUrl}/readyz`)).status).toBe(503)
  expect((await fetch(`${first!.monitoringUrl}/readyz`)).status).toBe(200)
  await site.must('POST', bindings, binding)
  await late.ready()
})
