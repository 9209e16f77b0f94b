/** Properties of every object of a lab for which everything is configured. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { image } from '../../test/kit/images/cluster.ts'
import { all, type ExampleLab, renderEverything } from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { asObject, asObjects } from '../base/json.ts'
import { configSchema } from '../config/schema.ts'
import { parseYaml } from '../config/yaml.ts'
import { renderPullSet } from '../images/prepull/pull-set.ts'
import { placeOf } from '../ops/content.ts'
import { withOwnership } from './render.ts'

const example = parseYaml(readFileSync(new URL('../../docs/examples/lab.yaml', import.meta.url), 'utf8'))
if (!('value' in example)) throw new Error('docs/examples/lab.yaml is no YAML')
const { lab } = example.value as { lab: ExampleLab }
const changes = { application: 'our-labs' }
const plan = renderEverything(lab, changes)

/** The DaemonSet that pulls images of labs, and the pods that it makes. */
const pullSet = renderPullSet({
  config: configSchema.parse({ lab: { ...lab, ...changes } }),
  ...{ namespace: 'skylab', image: image('w_2026_01'), nodes: ['one'], begunMs: 1 },
})
const pullPod = asObject(asObject(pullSet.spec).template) as Pick<KubeObject, 'metadata'>

it('consists of these objects, with the pod last', () => {
  expect(all(plan).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'Namespace observatory-rra',
    'ConfigMap nb-rra-env',
    'ConfigMap nb-rra-nss',
    'ConfigMap nb-rra-provision',
    'ConfigMap nb-rra-site',
    'ConfigMap nb-rra-motd',
    'Secret nb-rra',
    'Secret nb-rra-env',
    'Secret nb-rra-pull',
    'PersistentVolumeClaim nb-rra-scratch',
    'ResourceQuota nb-rra',
    'NetworkPolicy nb-rra',
    'Service nb-rra',
    'Pod nb-rra',
  ])
})

it('has the labels by which Argo CD shows each object, also on the DaemonSet that pulls its image', () => {
  const made = [...all(plan), pullSet, pullPod]
  expect(made.length).toBe(14 + 2)
  for (const { metadata } of made) {
    expect(metadata.labels).toMatchObject({
      'app.kubernetes.io/managed-by': 'skylab',
      'argocd.argoproj.io/instance': 'our-labs',
    })
    expect(metadata.annotations).toMatchObject({
      'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
      'argocd.argoproj.io/sync-options': 'Prune=false',
    })
  }
})

it('appears in Argo CD below its Namespace: each object has the labels, and no other owner', () => {
  const { labels, annotations, ...metadata } = withOwnership(plan.namespace, 7, null).metadata
  expect(metadata).not.toHaveProperty('ownerReferences')
  expect(labels).toHaveProperty(['argocd.argoproj.io/instance'], 'our-labs')
  expect(annotations).toHaveProperty(['argocd.argoproj.io/sync-options'], 'Prune=false')
  for (const object of plan.objects) {
    const { ownerReferences, labels } = withOwnership(object, 7, 'uid').metadata
    expect(ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'Namespace', name: 'observatory-rra', uid: 'uid' }])
    expect(labels).toHaveProperty(['argocd.argoproj.io/instance'], 'our-labs')
  }
})

it('names its user on each object', () => {
  for (const { metadata } of all(plan)) {
    expect(metadata.labels).toMatchObject({ 'skylab/installation': 'skylab' })
    expect(metadata.annotations).toMatchObject({ 'skylab/user': 'rra' })
  }
})

it('is in the user’s namespace', () => {
  for (const { metadata } of plan.objects) expect(metadata.namespace).toBe('observatory-rra')
})

it('has secret values in Secrets only', () => {
  const open = JSON.stringify(all(plan).filter(({ kind }) => kind !== 'Secret'))
  for (const secret of ['notebook-token', 'hub-token', 'YQ==', 'e30=']) expect(open).not.toContain(secret)
})

it('has no env in its containers, and resources in each of them', () => {
  const pod = asObject(plan.objects.at(-1)?.spec)
  const containers = [...asObjects(pod.initContainers), ...asObjects(pod.containers)]
  expect(containers.map(({ name }) => name)).toEqual(['provision', 'lab'])
  for (const container of containers) {
    expect(container).not.toHaveProperty('env')
    const resources = { cpu: expect.any(String), memory: expect.any(String), 'ephemeral-storage': expect.any(String) }
    expect(container.resources).toEqual({ limits: resources, requests: resources })
    expect(container.terminationMessagePolicy).toBe('FallbackToLogsOnError')
  }
})

it('bounds each emptyDir', () => {
  const folders = asObjects(asObject(plan.objects.at(-1)?.spec).volumes).filter(({ emptyDir }) => emptyDir)
  expect(folders.length).toBeGreaterThan(1)
  for (const { emptyDir } of folders) expect(emptyDir).toHaveProperty('sizeLimit')
})

it('mounts only volumes of its pod, each path once', () => {
  const pod = asObject(plan.objects.at(-1)?.spec)
  const volumes = asObjects(pod.volumes).map(({ name }) => name)
  expect(new Set(volumes).size).toBe(volumes.length)
  for (const { volumeMounts } of [...asObjects(pod.initContainers), ...asObjects(pod.containers)]) {
    const paths = asObjects(volumeMounts).map(({ mountPath }) => mountPath)
    expect(new Set(paths).size).toBe(paths.length)
    for (const { name } of asObjects(volumeMounts)) expect(volumes).toContain(name)
  }
})

it('has objects at places with different names', () => {
  const lab = plan.objects.at(-1)!.metadata.name
  expect(plan.objects.map(object => placeOf(object, lab))).toEqual([
    'make.configmap-env',
    'make.configmap-nss',
    'make.configmap-provision',
    'make.configmap-site',
    'make.configmap-motd',
    'make.secret',
    'make.secret-env',
    'make.secret-pull',
    'make.persistentvolumeclaim-scratch',
    'make.resourcequota',
    'make.networkpolicy',
    'make.service',
    'make.pod',
  ])
})
