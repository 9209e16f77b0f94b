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
import { plan } from '../reconcile/plan.ts'
import { groupsOf } from './groups.ts'
import golden from './render.golden.json' with { type: 'json' }
import { renderApp } from './render.ts'
import { readApp } from './spec.ts'
import {
  containerOf,
  deploymentOf,
  objectOf,
  podOf,
  prunedOf,
  render,
  sources,
  stored,
  withoutNulls,
} from './testing/rendered.ts'
import { appParent } from './words.ts'

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
    const policy = objectOf(render(appWith({ httpPort: undefined })).objects, 'NetworkPolicy', 'app-mlflow-xyzab-proxy')
    expect(asObject(policy.spec)).toEqual({ podSelector: expect.anything(), policyTypes: ['Ingress'] })
  })

  it('tells an app the origin of its own host, where it has one', () => {
    const url = (more: object) =>
      asObjects(containerOf(appFact(), appSettings(more)).env).find(({ name }) => name === 'PRIMEHUB_URL')?.value
    const publicUrl = 'https://platform.example.org'
    expect(url({ publicUrl })).toBe(publicUrl)
    expect(url({ publicUrl, appDomain: 'apps.example.net' })).toBe('https://mlflow-xyzab.apps.example.net')
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

  it('corrects policies at once where pods stand, and names each target once', () => {
    const ports = [
      { name: 'a', port: 80, targetPort: 5000 },
      { name: 'b', port: 81, targetPort: 5000 },
    ]
    const fact = appWith({ svcTemplate: { spec: { ports } }, httpPort: 80 })
    const { spec } = checkedFact(fact)
    const restricting = (hasPods: boolean) =>
      renderApp(fact, spec!, appSettings(), hasPods).objects.map(({ restricts }) => restricts ?? false)
    expect([restricting(false), restricting(true)]).toEqual([
      [false, false, false, false],
      [true, true, false, false],
    ])
    const [policy] = render(fact).objects
    expect(asObjects(asObject(policy!.object.spec).ingress)[0]!.ports).toEqual([{ protocol: 'TCP', port: 5000 }])
  })

  it('lets in labs of the installation whose users are in the group, only with apps.labs', () => {
    const from = (more: object, fact = appFact(), isTenant = false) => {
      const settings = { ...appSettings(more), installation: 'main' }
      const groups = groupsOf(fact.ref.namespace!, settings, () => isTenant)
      const { spec } = readApp(fact, settings, { groups, isTaken: false })
      const [policy] = renderApp(fact, spec!, settings, false).objects
      return asObjects(asObject(policy!.object.spec).ingress).flatMap(rule => asObjects(rule.from))
    }
    const own = { podSelector: { matchLabels: { 'primehub.io/group': 'escaped-phusers' } } }
    const labs = {
      namespaceSelector: { matchLabels: { 'skylab/installation': 'main' } },
      podSelector: { matchLabels: { 'group.skylab/f1ce77e65a1a04bc7238cadb616664dfb4896182': '' } },
    }
    expect(from({})).toEqual([own])
    expect(from({ labs: true })).toEqual([own, labs])
    // An LNamespace has members of its own, of whom labs know nothing.
    const ofTenant = appWith({ groupName: 'chemistry' }, 'chemistry')
    expect(from({ labs: true }, ofTenant, true)).toHaveLength(1)
  })

  it('lets no volume of the app take the place of the group’s', () => {
    const fact = inPhysics(
      withPod({
        containers: [{ name: 'a', image: 'a', volumeMounts: [{ name: 'v', mountPath: '/project/physics/' }] }],
        volumes: [{ name: 'v', emptyDir: {} }],
      }),
    )
    const paths = asObjects(containerOf(fact).volumeMounts).map(({ name, mountPath }) => `${name} ${mountPath}`)
    expect(paths).toEqual(['primehub-group /project/physics', 'primehub-data-0 /datasets/surveys'])
    expect(prunedOf(fact)).toEqual(['spec.podTemplate.spec.containers[0].volumeMounts: /project/physics/'])
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
