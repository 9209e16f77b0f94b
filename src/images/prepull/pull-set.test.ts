import { describe, expect, test } from 'vitest'
import { digestOf, image, repository } from '../../../test/kit/images/cluster.ts'
import type { KubeObject } from '../../base/domain.ts'
import { configSchema } from '../../config/schema.ts'
import { labels } from '../../kube/labels.ts'
import {
  prepullLabel,
  projectPullPod,
  projectPullSet,
  pullReference,
  pullSetName,
  renderPullNodes,
  renderPullSet,
} from './pull-set.ts'

const configOf = (lab: object = {}) => configSchema.parse({ installation: 'north', lab })
const setOf = (lab?: object, what = image('w_2026_01')) =>
  renderPullSet({ config: configOf(lab), namespace: 'sky', image: what, nodes: ['one', 'two'], begunMs: 1234 })

// biome-ignore lint/suspicious/noExplicitAny: an object of Kubernetes, of which each test looks at other fields
const podSpecOf = (object: KubeObject): any => (object as any).spec.template.spec

describe('renderPullSet', () => {
  test('sets the labels that identify it, and those for Argo CD', () => {
    const name = pullSetName('north', image('w_2026_01'))
    const selector = { 'skylab/prepull': 'north', 'skylab/prepull-image': name }
    const shown = {
      'app.kubernetes.io/managed-by': 'skylab',
      'app.kubernetes.io/component': 'prepull',
      'argocd.argoproj.io/instance': 'nublado-users',
    }
    const annotations = {
      'skylab/prepull-image': `${repository}:w_2026_01@${digestOf('a')}`,
      'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
      'argocd.argoproj.io/sync-options': 'Prune=false',
    }
    expect(setOf()).toMatchObject({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: {
        name,
        namespace: 'sky',
        labels: { ...selector, ...shown, 'skylab/installation': 'north' },
        annotations: { ...annotations, 'skylab/prepull-begun': '1234' },
      },
      spec: {
        selector: { matchLabels: selector },
        updateStrategy: { type: 'OnDelete' },
        template: { metadata: { labels: { ...selector, ...shown }, annotations } },
      },
    })
  })

  test('gives pods no label of labs', () => {
    const { template } = setOf().spec as { template: { metadata: { labels: Record<string, string> } } }
    expect(template.metadata.labels).not.toHaveProperty([labels.installation])
    expect(template.metadata.labels).not.toHaveProperty([labels.op])
  })

  test('pulls by digest, with minimal resources and no rights', () => {
    expect(podSpecOf(setOf())).toEqual({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      affinity: expect.anything(),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65_534,
        runAsGroup: 65_534,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'pull',
          image: `${repository}:w_2026_01@${digestOf('a')}`,
          imagePullPolicy: 'IfNotPresent',
          command: ['/bin/sh', '-c', 'exec sleep 1000000'],
          resources: {
            limits: { cpu: '100m', memory: '32Mi', 'ephemeral-storage': '16Mi' },
            requests: { cpu: '1m', memory: '1Mi', 'ephemeral-storage': '0' },
          },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    })
  })

  test('runs where labs run, and pulls with their secret', () => {
    const tolerations = [{ key: 'gpu', operator: 'Exists' as const }]
    const secrets = [
      { name: 'other', key: 'k' },
      { name: 'registry', key: '.dockerconfigjson', pull: true },
    ]
    expect(podSpecOf(setOf({ tolerations, secrets }))).toMatchObject({
      tolerations,
      imagePullSecrets: [{ name: 'registry' }],
    })
  })

  test('restricts pods to the named nodes, and can be patched for others', () => {
    const termsOf = (...names: string[]) => ({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: names.map(name => ({
            matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }],
          })),
        },
      },
    })
    expect(podSpecOf(setOf()).affinity).toEqual(termsOf('one', 'two'))
    expect(renderPullNodes(['three'])).toEqual({ spec: { template: { spec: { affinity: termsOf('three') } } } })
  })

  test('is read back by projectPullSet', () => {
    const object = setOf()
    const standing = { ...object, metadata: { ...object.metadata, uid: 'u', resourceVersion: '7' } }
    expect(projectPullSet(standing)).toEqual({
      name: object.metadata.name,
      uid: 'u',
      resourceVersion: '7',
      deleting: false,
      image: `${repository}:w_2026_01@${digestOf('a')}`,
      begunMs: 1234,
      nodes: ['one', 'two'],
    })
  })

  test('is read without its annotation as begun at its creation', () => {
    const metadata = { name: 'x', creationTimestamp: '1970-01-01T00:00:05Z' }
    const bare = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata }
    expect(projectPullSet(bare)).toMatchObject({ begunMs: 5000, image: '', nodes: [] })
  })
})

test('pullSetName depends on image and installation', () => {
  const names = [
    pullSetName('north', image('a')),
    pullSetName('north', image('b')),
    pullSetName('north', image('a', 'b')),
    pullSetName('north', image('a', null)),
    pullSetName('south', image('a')),
  ]
  expect(new Set(names).size).toBe(names.length)
  expect(pullSetName('north', image('a'))).toBe(names[0])
  for (const name of names) expect(name).toMatch(/^skylab-prepull-[0-9a-f]{24}$/)
})

test('pullReference is the tag when there is no digest', () => {
  expect(pullReference(image('a', null))).toBe(`${repository}:a`)
})

describe('projectPullPod', () => {
  const pod = (status: object, spec: object = { nodeName: 'one' }): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      namespace: 'sky',
      creationTimestamp: '1970-01-01T00:00:03Z',
      labels: { [prepullLabel]: 'north' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'set', uid: 'u' }],
    },
    spec,
    status,
  })
  const container = (state: object, more: object = {}) => ({ containerStatuses: [{ name: 'pull', state, ...more }] })
  const waiting = (reason: string, message = '') => container({ waiting: { reason, message } })

  test('reads the DaemonSet and the node', () => {
    expect(projectPullPod(pod({}))).toMatchObject({ set: 'set', setUid: 'u', node: 'one', createdMs: 3000 })
    const { metadata } = pod({})
    expect(projectPullPod({ ...pod({}), metadata: { ...metadata, ownerReferences: [] } })).toBeUndefined()
  })

  test('reads the intended node before the pod is scheduled', () => {
    const { affinity } = podSpecOf(setOf())
    expect(projectPullPod(pod({}, { affinity }))?.node).toBe('one')
    expect(projectPullPod(pod({}, {}))?.node).toBe('')
  })

  test.each<[string, object]>([
    ['nothing yet', {}],
    ['ContainerCreating', waiting('ContainerCreating')],
    ['PodInitializing', waiting('PodInitializing')],
  ])('reads %s as pulling', (_, status) => {
    expect(projectPullPod(pod(status))).toMatchObject({ state: 'pulling', message: '' })
  })

  test.each<[string, object]>([
    ['running', container({ running: {} })],
    ['an image', container({ waiting: { reason: 'ContainerCreating' } }, { imageID: 'sha256:x' })],
    ['an end', container({ terminated: { exitCode: 0 } })],
    ['a former end', container({ waiting: { reason: 'x' } }, { lastState: { terminated: { exitCode: 1 } } })],
    ['a command that is not there', waiting('RunContainerError', 'no such file')],
    ['a user that cannot be', waiting('CreateContainerConfigError')],
    ['a crash loop', waiting('CrashLoopBackOff')],
    ['a failed end of its own', { phase: 'Failed', ...container({ terminated: { exitCode: 1 } }) }],
  ])('reads %s as pulled', (_, status) => {
    expect(projectPullPod(pod(status))).toMatchObject({ state: 'pulled' })
  })

  test.each<[string, object, string]>([
    [
      'an image that does not exist',
      waiting('ErrImagePull', 'rpc error: code = NotFound desc = failed to resolve reference "x": x: not found'),
      'The image cannot be pulled: it does not exist (rpc error: code = NotFound desc = failed to resolve reference "x": x: not found)',
    ],
    ['a registry that is slow', waiting('ImagePullBackOff', 'i/o timeout'), 'could not be pulled yet (i/o timeout)'],
    ['a full disk', waiting('ErrImagePull', 'no space left on device'), 'no space left on device'],
    ['a wrong name', waiting('InvalidImageName'), 'The image cannot be pulled: its name is not valid'],
    [
      'an eviction, though it ran',
      { phase: 'Failed', reason: 'Evicted', message: 'low on ephemeral-storage', ...container({ running: {} }) },
      'Evicted: low on ephemeral-storage',
    ],
    ['a node that takes no more', { phase: 'Failed', reason: 'OutOfpods' }, 'OutOfpods'],
  ])('reads %s as failed', (_, status, words) => {
    const facts = projectPullPod(pod(status))
    expect(facts?.state).toBe('failed')
    expect(facts?.message).toContain(words)
  })

  test('hides secrets of the registry in messages', () => {
    const message = 'Get "https://u:p4ssw0rd@registry/v2/": denied: '
    expect(projectPullPod(pod(waiting('ErrImagePull', message)))?.message).not.toContain('p4ssw0rd')
  })

  test('reads why a pod is not scheduled', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes: too many pods' }]
    const facts = projectPullPod(pod({ conditions }, {}))
    expect(facts).toMatchObject({ state: 'pulling', message: '0/1 nodes: too many pods' })
  })
})
