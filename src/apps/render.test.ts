import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  appFact,
  appSettings,
  appWith,
  checkedFact,
  inPhysics,
  withContainer,
  withPod,
} from '../../test/kit/apps/facts.ts'
import { asObject, asObjects, type JsonObject } from '../base/json.ts'
import { factOf, objectToCreate } from '../reconcile/facts.ts'
import { plan } from '../reconcile/plan.ts'
import type { Fact, Wanted } from '../reconcile/types.ts'
import golden from './render.golden.json' with { type: 'json' }
import { renderApp } from './render.ts'
import { appParent } from './words.ts'

const render = (fact: Fact, settings = appSettings()) =>
  renderApp(fact, checkedFact(fact, settings).spec!, settings, false)

const objectOf = (objects: readonly Wanted[], kind: string, name = 'app-mlflow-xyzab'): JsonObject =>
  objects.map(({ object }) => object).find(({ kind: each, metadata }) => each === kind && metadata.name === name)!

const deploymentOf = (fact: Fact, settings = appSettings()) =>
  asObject(objectOf(render(fact, settings).objects, 'Deployment').spec)
const podOf = (fact: Fact, settings = appSettings()) => asObject(asObject(deploymentOf(fact, settings).template).spec)
const containerOf = (fact: Fact, settings = appSettings()) => asObjects(podOf(fact, settings).containers)[0]!
const prunedOf = (fact: Fact) => render(fact).pruned

/** What the server stores: fields that are null are not. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(fields.map(([name, inner]) => [name, withoutNulls(inner)]))
}

const sources = ['Deployment', 'Service', 'NetworkPolicy'].map(kind => ({
  paths: [['spec'], ['metadata', 'labels']],
  watch: {
    kind,
    apiVersion: { Deployment: 'apps/v1', Service: 'v1', NetworkPolicy: 'networking.k8s.io/v1' }[kind]!,
  },
}))
const stored = (wish: Wanted): Fact =>
  factOf(withoutNulls({ ...objectToCreate(wish), ...{} }) as ReturnType<typeof objectToCreate>, [
    ['spec'],
    ['metadata', 'labels'],
  ])

describe('renderApp', () => {
  it('renders the application of the seed in a group with a volume to the last field', () => {
    const { objects, pruned } = render(inPhysics(appFact()))
    expect(withoutNulls(objects.map(({ object }) => object))).toEqual(golden)
    expect(pruned).toEqual([])
  })

  it('wants nothing more of what it has made, and its kind owns all fields', () => {
    const fact = inPhysics(appFact())
    const { objects } = render(fact)
    const standing = objects.map(stored)
    expect(plan({ objects, standing, parent: fact }, { parent: appParent, sources })).toEqual([])
  })

  it('puts policies before the Service, and that before pods', () => {
    expect(render(appFact()).objects.map(({ object, stage }) => [object.metadata.name, object.kind, stage])).toEqual([
      ['app-mlflow-xyzab-group', 'NetworkPolicy', 0],
      ['app-mlflow-xyzab-proxy', 'NetworkPolicy', 0],
      ['app-mlflow-xyzab', 'Service', 1],
      ['app-mlflow-xyzab', 'Deployment', 2],
    ])
  })

  it('lets no gateway in when the app has no web interface', () => {
    const names = render(appWith({ httpPort: undefined })).objects.map(({ object }) => object.metadata.name)
    expect(names).not.toContain('app-mlflow-xyzab-proxy')
  })

  it('has a folder that ends with the pod when the group has no volume, or one that it can only read', () => {
    const readOnly = {
      hub: { namespace: 'hub' },
      phusers: { namespace: 'hub2', volume: { claim: 'c', path: '/g', readOnly: true } },
    }
    const inReadOnly = appWith({}, 'hub2')
    const root = (container: JsonObject) => asObjects(container.env).find(({ name }) => name === 'PRIMEHUB_APP_ROOT')
    for (const [fact, settings] of [
      [appFact(), appSettings()],
      [inReadOnly, appSettings({ groups: readOnly })],
    ] as const) {
      expect(root(containerOf(fact, settings))).toEqual({
        name: 'PRIMEHUB_APP_ROOT',
        value: '/phapplications/mlflow-xyzab',
      })
      expect(asObjects(podOf(fact, settings).volumes)).toContainEqual({
        name: 'primehub-app',
        emptyDir: { sizeLimit: '5Gi' },
      })
      expect(containerOf(fact, settings).volumeMounts).toContainEqual({
        name: 'primehub-app',
        mountPath: '/phapplications/mlflow-xyzab',
      })
    }
  })

  it('replaces no variable in the values of presets', () => {
    const groups = { '$(FOO)': { namespace: 'hub' } }
    const env = asObjects(containerOf(appWith({ groupName: '$(FOO)' }), appSettings({ groups })).env)
    expect(env.find(({ name }) => name === 'PRIMEHUB_GROUP')).toEqual({ name: 'PRIMEHUB_GROUP', value: '$$(FOO)' })
  })

  it('keeps the presets before all others, and drops variables that would replace them', () => {
    const fact = withContainer({
      env: [
        { name: 'A', value: '1' },
        { name: 'PRIMEHUB_APP_ID', value: 'other' },
      ],
    })
    const names = asObjects(containerOf(fact).env).map(({ name }) => name)
    expect(names.slice(0, 5).every(name => String(name).startsWith('PRIMEHUB_'))).toBe(true)
    expect(names.slice(5)).toEqual(['A'])
    expect(prunedOf(fact)).toContain('spec.podTemplate.spec.containers[0].env[1].name')
  })

  it('asks for nothing that Pod Security restricted refuses when apps.initAsRoot is false', () => {
    const settings = appSettings({ initAsRoot: false })
    const pod = podOf(withContainer({ securityContext: { runAsNonRoot: false, runAsUser: 1_001 } }), settings)
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      fsGroup: 1_000,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    for (const { securityContext } of [...asObjects(pod.initContainers), ...asObjects(pod.containers)]) {
      expect(withoutNulls(securityContext)).toEqual({
        ...{ runAsUser: 1_001, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      })
    }
  })

  it('runs no pod of a stopped app, keeps its Service, and never runs two that must be alone', () => {
    expect(deploymentOf(appWith({ stop: true })).replicas).toBe(0)
    expect(objectOf(render(appWith({ stop: true })).objects, 'Service')).toBeDefined()
    expect(deploymentOf(appFact()).strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    })
    const alone = appWith({}, 'hub', { 'user.skylab/strategy': 'recreate' })
    expect(deploymentOf(alone).strategy).toEqual({ type: 'Recreate' })
  })

  it('gives the resources, nodes and tolerations of the instance type', () => {
    const gpu = appWith({ instanceType: 'gpu' })
    expect(containerOf(gpu).resources).toEqual({
      limits: { cpu: '4', memory: '16Gi', 'nvidia.com/gpu': '1' },
      requests: { cpu: '1', memory: '4Gi', 'nvidia.com/gpu': '1' },
    })
    expect(podOf(gpu)).toMatchObject({
      nodeSelector: { accelerator: 'a100' },
      tolerations: [{ key: 'nvidia.com/gpu' }],
    })
  })
})

describe('the allow-list', () => {
  it.each<[string, JsonObject, string]>([
    ['hostNetwork', { hostNetwork: true }, 'hostNetwork'],
    ['hostPID', { hostPID: true }, 'hostPID'],
    ['hostIPC', { hostIPC: true }, 'hostIPC'],
    ['a node', { nodeName: 'n' }, 'nodeName'],
    ['labels of nodes', { nodeSelector: { a: 'b' } }, 'nodeSelector'],
    ['tolerations', { tolerations: [{ operator: 'Exists' }] }, 'tolerations'],
    ['an account', { serviceAccountName: 'admin' }, 'serviceAccountName'],
    ['a token', { automountServiceAccountToken: true }, 'automountServiceAccountToken'],
    ['service links', { enableServiceLinks: true }, 'enableServiceLinks'],
    ['init containers', { initContainers: [{ name: 'i', image: 'i' }] }, 'initContainers'],
    ['a priority', { priorityClassName: 'system-node-critical' }, 'priorityClassName'],
    ['a runtime', { runtimeClassName: 'r' }, 'runtimeClassName'],
    ['groups of files', { securityContext: { supplementalGroups: [0] } }, 'securityContext.supplementalGroups'],
    ['sysctls', { securityContext: { sysctls: [{ name: 'a', value: 'b' }] } }, 'securityContext.sysctls'],
    ['an unknown field', { tomorrow: 1 }, 'tomorrow'],
    ['a volume of hostPath', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 'volumes[0].hostPath'],
    ['a projected volume', { volumes: [{ name: 'v', projected: {} }] }, 'volumes[0].projected'],
    ['a volume of nfs', { volumes: [{ name: 'v', nfs: {} }] }, 'volumes[0].nfs'],
    ['a volume of our names', { volumes: [{ name: 'primehub-group', emptyDir: {} }] }, 'volumes[0].name'],
  ])('leaves out %s, and says so', (_, pod, path) => {
    const fact = withPod(pod)
    expect(prunedOf(fact)).toContain(`spec.podTemplate.spec.${path}`)
    expect(withoutNulls(podOf(fact))).toEqual(withoutNulls(podOf(appFact())))
  })

  it.each<[string, JsonObject, string]>([
    ['privilege', { securityContext: { privileged: true } }, 'securityContext.privileged'],
    ['capabilities', { securityContext: { capabilities: { add: ['ALL'] } } }, 'securityContext.capabilities.add'],
    ['escalation', { securityContext: { allowPrivilegeEscalation: true } }, 'securityContext.allowPrivilegeEscalation'],
    [
      'no seccomp',
      { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      'securityContext.seccompProfile.type',
    ],
    ['/proc unmasked', { securityContext: { procMount: 'Unmasked' } }, 'securityContext.procMount'],
    ['resources', { resources: { limits: { cpu: '64' } } }, 'resources'],
    ['hooks', { lifecycle: { postStart: { exec: { command: ['a'] } } } }, 'lifecycle'],
    ['envFrom', { envFrom: [{ secretRef: { name: 's' } }] }, 'envFrom'],
    ['devices', { volumeDevices: [{ name: 'd', devicePath: '/dev/d' }] }, 'volumeDevices'],
    [
      'a probe of another host',
      { livenessProbe: { tcpSocket: { port: 1, host: '169.254.169.254' } } },
      'livenessProbe.tcpSocket.host',
    ],
    ['a mount of no volume', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }, 'volumeMounts: /v'],
  ])('leaves out of the container %s, and says so', (_, container, path) => {
    expect(prunedOf(withContainer(container))).toContain(`spec.podTemplate.spec.containers[0].${path}`)
  })

  it('leaves out a hostPort alone of its port', () => {
    const fact = withContainer({ ports: [{ containerPort: 80, hostPort: 80, hostIP: '0.0.0.0' }] })
    expect(containerOf(fact).ports).toEqual([{ containerPort: 80 }])
    expect(prunedOf(fact)).toEqual(
      ['hostPort', 'hostIP'].map(field => `spec.podTemplate.spec.containers[0].ports[0].${field}`),
    )
  })

  it('leaves out all containers but the first, and all of a Service but its ports', () => {
    const containers = [
      { name: 'a', image: 'a' },
      { name: 'b', image: 'b', securityContext: { privileged: true } },
    ]
    const fact = withPod({ containers })
    expect(asObjects(podOf(fact).containers).map(({ name }) => name)).toEqual(['a'])
    expect(prunedOf(fact)).toEqual(['spec.podTemplate.spec.containers[1]'])
    const service = appWith({
      svcTemplate: {
        spec: { type: 'LoadBalancer', externalIPs: ['192.0.2.1'], ports: [{ port: 5000, nodePort: 30_000 }] },
      },
    })
    expect(prunedOf(service)).toEqual(['spec.svcTemplate.spec.type', 'spec.svcTemplate.spec.externalIPs'])
    expect(withoutNulls(objectOf(render(service).objects, 'Service').spec)).toEqual({
      type: 'ClusterIP',
      selector: { app: 'primehub-app', 'primehub.io/phapplication': 'mlflow-xyzab' },
      ports: [{ port: 5000, protocol: 'TCP', targetPort: 5000 }],
    })
  })

  it('keeps what an app may say', () => {
    const container = {
      ...{ name: 'c', image: 'i', command: ['a'], args: ['b', ''], workingDir: '/w' },
      env: [{ name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
      ports: [{ name: 'http', containerPort: 80, protocol: 'TCP' }],
      readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
      securityContext: { runAsUser: 1_000, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true }],
    }
    const pod = {
      ...{ containers: [container], terminationGracePeriodSeconds: 5, imagePullSecrets: [{ name: 'p' }] },
      securityContext: { fsGroup: 7, runAsGroup: 8, seccompProfile: { type: 'RuntimeDefault' } },
      volumes: [
        { name: 'v', configMap: { name: 'c', defaultMode: 0o440 } },
        { name: 'w', persistentVolumeClaim: { claimName: 'w' } },
        { name: 'x', secret: { secretName: 'x' } },
        { name: 'y', emptyDir: {} },
      ],
    }
    const fact = withPod(pod)
    expect(prunedOf(fact)).toEqual([])
    expect(podOf(fact)).toMatchObject({
      ...pod,
      containers: expect.anything(),
      volumes: expect.arrayContaining(pod.volumes),
    })
    const { env, volumeMounts, ...rest } = container
    expect(containerOf(fact)).toMatchObject(rest)
    expect(containerOf(fact).env).toEqual(expect.arrayContaining(env))
    expect(containerOf(fact).volumeMounts).toEqual(expect.arrayContaining(volumeMounts))
  })

  it('leaves out Secrets and claims where two groups have apps', () => {
    const settings = appSettings({ groups: { phusers: { namespace: 'hub' }, others: { namespace: 'hub' } } })
    const fact = withPod({
      volumes: [
        { name: 'a', secret: { secretName: 'a' } },
        { name: 'b', persistentVolumeClaim: { claimName: 'b' } },
        { name: 'c', configMap: { name: 'c' } },
      ],
    })
    expect(asObjects(podOf(fact, settings).volumes).map(({ name }) => name)).toEqual(['primehub-app', 'c'])
    const env = withContainer({ env: [{ name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] })
    expect(asObjects(containerOf(env, settings).env).at(-1)).toEqual({ name: 'S' })
  })
})

const anyJson = fc.jsonValue({ maxDepth: 4 })
/** Values of the right names and any type. */
const anyContainer = fc.record(
  Object.fromEntries(
    ['name', 'image', 'env', 'ports', 'securityContext', 'volumeMounts', 'livenessProbe', 'args', 'lifecycle'].map(
      name => [name, anyJson],
    ),
  ),
  { requiredKeys: [] },
)
const anyPod = fc.record(
  {
    containers: fc.array(fc.oneof(anyContainer, anyJson), { maxLength: 3 }),
    ...{ volumes: fc.array(anyJson), securityContext: anyJson, hostNetwork: anyJson, imagePullSecrets: anyJson },
  },
  { requiredKeys: [] },
)

it('whatever an app says, it gets no right, and what stands of it is at rest', () => {
  fc.assert(
    fc.property(anyPod, anyJson, anyJson, (pod, ports, httpPort) => {
      const fact = appWith({ podTemplate: { spec: pod as JsonObject }, svcTemplate: { spec: { ports } }, httpPort })
      const container = { ...asObjects(pod.containers)[0], image: 'i' }
      const sound = withPod({ ...(pod as JsonObject), containers: [container] })
      for (const each of [fact, sound]) {
        const { spec } = checkedFact(each)
        if (!spec) continue
        const { objects } = renderApp(each, spec, appSettings(), true)
        const text = JSON.stringify(withoutNulls(objects.map(({ object }) => object)))
        expect(text).not.toMatch(/"(hostPath|hostNetwork|privileged|serviceAccountName|nodeName|hostPort)"/)
        const standing = objects.map(stored)
        expect(plan({ objects, standing, parent: each }, { parent: appParent, sources })).toEqual([])
      }
      expect(checkedFact(sound).spec).toBeDefined()
    }),
    { numRuns: 40 },
  )
})
