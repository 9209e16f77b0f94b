/**
 * The effect of each option of the blocks `lab` and `network` on a lab's objects, one option at a time, as the API server
 * accepts them from the controller: validated and admitted, but not stored. All at once: everything.test.ts.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { lab as labSchema } from '../../src/config/lab.ts'
import { configSchema } from '../../src/config/schema.ts'
import { renderPullSet } from '../../src/images/prepull/pull-set.ts'
import { withOwnership } from '../../src/labs/render.ts'
import { grantInstallation, regrantInstallation, revokeInstallation } from '../kit/cluster/installation.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { asTaken, tryStrictly } from '../kit/cluster/strict.ts'
import { eventually } from '../kit/cluster/world.ts'
import { image } from '../kit/images/cluster.ts'
import { type Changes, render } from '../kit/labs/plan.ts'
import { testBed } from '../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
const controller = new AdminKube(testBed().controllerKubeconfig)
const runtimeClasses = '/apis/node.k8s.io/v1/runtimeclasses'
const namespacePrefix = `one-${randomBytes(4).toString('hex')}`

interface Case extends Omit<Changes, 'config'> {
  readonly lab?: Record<string, unknown>
  readonly network?: Record<string, unknown>
}

/** All objects of a lab, and the DaemonSet that pulls its image. */
function objectsOf(of: Case): KubeObject[] {
  const { lab: _, network: __, ...changes } = of
  const config = configSchema.parse(configOf(of))
  const onto = { namespace: 'skylab', image: image('w_2026_01'), nodes: ['a', 'b'], begunMs: 1 }
  const { objects } = render({ ...changes, config: configOf(of) })
  return [...objects, renderPullSet({ config, ...onto })]
}

const configOf = ({ lab, network }: Pick<Case, 'lab' | 'network'>) => ({
  installation: namespacePrefix,
  lab: { namespacePrefix, ...lab },
  ...(network && { network }),
})

/** A volume at a free path. */
const mounted = (volume: object, mount: object = {}) => ({
  lab: { volumes: [{ name: 'v', ...volume }], mounts: [{ volume: 'v', path: '/v', ...mount }] },
})
const claim = (more: object) =>
  mounted({ persistentVolumeClaim: { accessModes: ['ReadWriteOnce'], size: '1500M', ...more } })
const provisioning = (more: object = {}) => ({ lab: { provisioning: { image: 'quay.io/example/home:1', ...more } } })
const resources = { limits: { cpu: 0.5, memory: '1500M' }, requests: { cpu: 0.001, memory: 1 } }
const labels = { matchLabels: { app: 'x' } }
const nearby = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: labels }] }
const onNodes = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'gpu', operator: 'DoesNotExist' }] }] }
const image_list = 'lsstsqre/sciplat-lab:w_2022_37'

const options: Readonly<Record<string, readonly Case[]>> = {
  'lab.command': [{ lab: { command: ['jupyter', 'lab'] } }],
  'lab.servicePrefix': [{ lab: { servicePrefix: '/lab/' }, request: { env: {} } }],
  'lab.defaultSize': [{ lab: { defaultSize: 'medium' }, request: { options: { image_list } } }],
  'lab.sizes': [{ lab: { sizes: { small: resources, large: resources } } }],
  'lab.defaultStorage': [{ lab: { defaultStorage: '1500M' } }],
  'lab.env': [{ lab: { env: { TZ: 'UTC', SITE_PASSWORD: 'hunter2' } } }],
  'lab.secretPatterns': [{ lab: { secretPatterns: ['*_URL'] } }],
  'lab.token': [{ lab: { token: 'bearer' } }],
  'lab.secrets': [
    { lab: { secrets: [{ name: 'a', key: 'b' }] }, sources: { secrets: { b: 'YQ==' } } },
    { lab: { secrets: [{ name: 'a', key: 'b', as: 'c' }] }, sources: { secrets: { c: 'YQ==' } } },
    {
      lab: { secrets: [{ name: 'a', key: '.dockerconfigjson', pull: true }] },
      sources: { pullSecret: Buffer.from('{"auths":{}}').toString('base64') },
    },
  ],
  'lab.secretsPath': [{ lab: { secretsPath: '/opt/secrets' } }],
  'lab.volumes': [
    mounted({ nfs: { server: '192.0.2.10', path: '/export', readOnly: true } }),
    ...['', 'Directory', 'Socket'].map(type => mounted({ hostPath: { path: '/opt', type } })),
    ...['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'].map(mode =>
      claim({ accessModes: [mode] }),
    ),
    claim({ storageClassName: '' }),
    claim({ storageClassName: 'fast', volumeName: 'v-1' }),
    mounted({ emptyDir: {} }),
    mounted({ emptyDir: { medium: 'memory', sizeLimit: '1500M' } }),
    { ...mounted({ configMap: { name: 'site' } }), sources: { configMaps: { v: { binaryData: { b: 'AA==' } } } } },
    mounted({ files: { motd: 'Welcome.\n' } }),
  ],
  'lab.mounts': [
    mounted({ emptyDir: {} }, { subPath: 'users/{username}', readOnly: true }),
    mounted({ emptyDir: {} }, { path: '/home' }),
  ],
  'lab.tmp': [{ lab: { tmp: { medium: 'memory', sizeLimit: '1500M' } } }],
  'lab.home': [{ lab: { home: { sizeLimit: '1500M' } } }],
  'lab.nss': [{ lab: { nss: { passwd: 'vera:x:77:77::/:/bin/sh\n' } } }, { lab: { nss: { group: 'vera:x:77:\n' } } }],
  'lab.provisioning': [
    provisioning(),
    provisioning({ command: ['/make'], args: ['-v'], env: { QUOTA: '20G' }, imagePullPolicy: 'Always', resources }),
    provisioning({ runAsRoot: true }),
    provisioning({ runAsRoot: true, privileged: true }),
  ],
  'lab.nodeSelector': [{ lab: { nodeSelector: { 'example.org/pool': 'labs' } } }],
  'lab.affinity': [
    { lab: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onNodes } } } },
    { lab: { affinity: { podAffinity: nearby } } },
    { lab: { affinity: { podAntiAffinity: nearby } } },
  ],
  'lab.tolerations': [
    { lab: { tolerations: [{ operator: 'Exists' }] } },
    { lab: { tolerations: [{ key: 'example.org/a', value: 'b', effect: 'PreferNoSchedule' }] } },
    { lab: { tolerations: [{ key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute', tolerationSeconds: 0 }] } },
  ],
  'lab.hostUsers': [{ lab: { hostUsers: false } }, { lab: { hostUsers: true } }],
  'lab.runtimeClassName': [{ lab: { runtimeClassName: namespacePrefix } }],
  'lab.annotations': [{ lab: { annotations: { 'example.org/cost-centre': 'science' } } }],
  'lab.startupProbe': [{ lab: { startupProbe: 'tcp' } }, { lab: { startupProbe: 'none' } }],
  'lab.homePrefix': [{ lab: { homePrefix: '/nfs/homes' } }],
  'lab.homeScheme': [{ lab: { homeScheme: 'initialThenUsername' } }],
  'lab.imagePullPolicy': [{ lab: { imagePullPolicy: 'Always' } }],
  'lab.terminationGraceSeconds': [{ lab: { terminationGraceSeconds: 0 } }],
  'lab.application': [{ lab: { application: 'our-labs' } }],
  // Labels of pods need a right of their own.
  'network.appsOfGroups': [{ network: { appsOfGroups: true } }],
  'network.proxySelector': [{ network: { proxySelector: { app: 'proxy' } } }],
  'network.proxyNamespace': [{ network: { proxyNamespace: 'edge' } }],
  'network.proxyPorts': [{ network: { proxyPorts: [8000, 8443] } }],
  'network.hubSelector': [{ network: { hubSelector: { app: 'hub' } } }],
  'network.hubNamespace': [{ network: { hubNamespace: 'jupyterhub' } }],
  'network.hubPorts': [{ network: { hubPorts: [8081] } }],
  'network.dns': [
    { network: { dns: { namespace: 'dns', selectors: [{ dns: 'default' }], port: 5353 } } },
    { network: { dns: { addresses: [] } } },
    { network: { dns: { addresses: ['10.96.0.10/32', 'fd00::10/128'] } } },
  ],
  'network.clusterRanges': [
    { network: { clusterRanges: ['10.96.0.0/12', 'fd00::/108'] } },
    { network: { clusterRanges: ['0.0.0.0/0', '::/0'] } },
  ],
  'network.egressRanges': [{ network: { egressRanges: ['10.100.7.0/24', 'fd01::/64', '100.64.0.0/10', 'fd00::/16'] } }],
  'a quota of the user': [{ identity: { quota: { spawn: true, cpu: 4, memoryBytes: 2 ** 34 } } }],
}

let namespaceUid = ''
beforeAll(async () => {
  // One policy for all options, since some need this level.
  await grantInstallation(admin, configOf({ lab: { podSecurity: 'privileged' } }))
  const { namespace } = render({ config: configOf({ lab: { podSecurity: 'privileged' } }) })
  const runtime = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: namespacePrefix },
    handler: 'x',
  }
  expect((await admin.request('POST', runtimeClasses, runtime)).status).toBe(201)
  namespaceUid = (await controller.create(withOwnership(namespace, 7, null))).metadata.uid!
})
afterAll(async () => {
  await admin.delete('Namespace', `${namespacePrefix}-rra`)
  await admin.request('DELETE', `${runtimeClasses}/${namespacePrefix}`)
  await revokeInstallation(admin, configOf({}))
  admin.close()
  controller.close()
})

/** The object as sent; a DaemonSet that pulls images has no owner. */
const owned = (object: KubeObject) => (object.kind === 'DaemonSet' ? object : withOwnership(object, 7, namespaceUid))

async function expectTaken(planned: KubeObject): Promise<void> {
  const object = owned(planned)
  const what = `${object.kind} ${object.metadata.name}`
  // A new namespace lacks its ServiceAccount, and the policy may not know it.
  const answer = await eventually(`${what} is not put off`, async () => {
    const tried = await tryStrictly(controller, object)
    return tried.status === 403 ? null : tried
  })
  expect(answer.status, `${what}: ${answer.body.message}`).toBe(201)
  expect(answer.body, what).toMatchObject(asTaken(object))
}

const plain = objectsOf({})
const isPlain = new Set(plain.map(object => JSON.stringify(object)))

test('options covers every option', () => {
  const { network } = configSchema.parse({})
  const all = [
    ...Object.keys(labSchema.shape).map(key => `lab.${key}`),
    ...Object.keys(network).map(key => `network.${key}`),
  ]
  // This file uses one prefix and one namespace; pod-security.test.ts covers the other key.
  const elsewhere = ['lab.namespacePrefix', 'lab.podSecurity']
  const missing = all.filter(key => !elsewhere.includes(key) && !Object.hasOwn(options, key))
  expect(missing).toEqual([])
})

test('the API server accepts a lab without options as sent', async () => {
  await Promise.all(plain.map(expectTaken))
})

test.each(Object.entries(options))('%s changes objects, and the API server accepts them as sent', async (_, cases) => {
  for (const each of cases) {
    const changed = objectsOf(each).filter(object => !isPlain.has(JSON.stringify(object)))
    expect(changed, JSON.stringify(each)).not.toEqual([])
    await regrantInstallation(admin, configOf(each))
    await Promise.all(changed.map(expectTaken))
  }
})

test('the API server refuses an unknown field', async () => {
  const pod = owned(plain.find(({ kind }) => kind === 'Pod')!)
  const { status, body } = await tryStrictly(controller, { ...pod, spec: { ...(pod.spec as object), fsGroup: 1 } })
  expect([status, body.message]).toEqual([400, expect.stringContaining('unknown field "spec.fsGroup"')])
})
