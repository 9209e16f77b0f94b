import { describe, expect, it } from 'vitest'
import {
  all,
  type Changes,
  labContainer,
  objectOf,
  podSpecIn,
  render,
  renderBoth,
  renderWith,
  rra,
  specRequest,
} from '../../test/kit/labs/plan.ts'
import type { KubeObject, LabPlan } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { asObject, asObjects } from '../base/json.ts'
import { configSchema } from '../config/schema.ts'
import { groupKey } from '../kube/labels.ts'
import { projectNamespace } from '../kube/pods/project.ts'
import { networkPolicySpec } from './network.ts'
import golden from './render.golden.json' with { type: 'json' }
import { withOwnership } from './render.ts'
import { parseView } from './view.ts'

const kinds = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)

describe('renderLab', () => {
  it('renders this lab to the last field', () => {
    expect(all(render())).toEqual(golden)
  })

  it('adds only the size and a peer of the NetworkPolicy when idle labs are stopped', () => {
    const idle = { namespace: 'controllers' }
    const changed = (object: KubeObject) => {
      const { metadata, kind } = object
      if (kind === 'Pod') return { ...object, metadata: { ...metadata, annotations: expect.anything() } }
      return kind === 'NetworkPolicy' ? { ...object, spec: expect.anything() } : object
    }
    const plan = render({ idle })
    expect(all(plan)).toEqual(all(render()).map(changed))
    const { metadata } = objectOf(plan, 'Pod')!
    expect(metadata.annotations).toEqual({
      ...objectOf(render(), 'Pod')!.metadata.annotations,
      'skylab/size': 'large',
    })
    const { network } = configSchema.parse({})
    expect(objectOf(plan, 'NetworkPolicy')!.spec).toEqual(networkPolicySpec(network, 'controllers'))
  })

  it('labels the pod with the user’s groups, and opens the way to apps, only with network.appsOfGroups', () => {
    const plan = render({ config: { network: { appsOfGroups: true } } })
    const { labels } = objectOf(plan, 'Pod')!.metadata
    const groups = Object.keys(labels!).filter(key => key.startsWith('group.skylab/'))
    expect(groups).toEqual(rra.groups.map(({ name }) => groupKey(name)))
    expect(groups.every(key => /^group\.skylab\/[0-9a-f]{40}$/.test(key) && labels![key] === '')).toBe(true)
    const others = Object.fromEntries(Object.entries(labels!).filter(([key]) => !groups.includes(key)))
    expect(others).toEqual(objectOf(render(), 'Pod')!.metadata.labels)
    const toApps = { to: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'primehub-app' } } }] }
    const egress = (spec: unknown) => asObjects(asObject(spec).egress)
    const policyOf = (each: LabPlan) => objectOf(each, 'NetworkPolicy')!.spec
    expect(egress(policyOf(plan))).toEqual([...egress(policyOf(render())), toApps])
  })

  it('names the size that the user did not choose, and lets no configuration name another', () => {
    const lab = { annotations: { 'skylab/size': 'other' } }
    const plan = render({ config: { lab }, idle: { namespace: 'skylab' }, request: { options: {} } })
    expect(objectOf(plan, 'Pod')!.metadata.annotations).toMatchObject({ 'skylab/size': 'small' })
  })

  it('puts all objects that the pod needs before the pod', () => {
    expect(kinds(all(render()))).toEqual([
      'Namespace nublado-rra',
      'ConfigMap nb-rra-env',
      'ConfigMap nb-rra-nss',
      'Secret nb-rra',
      'Secret nb-rra-env',
      'NetworkPolicy nb-rra',
      'Service nb-rra',
      'Pod nb-rra',
    ])
  })

  it('labels every object with user, installation and Argo CD', () => {
    const plan = render({ config: { installation: 'other', lab: { application: 'my-labs' } } })
    for (const { metadata } of all(plan)) {
      expect(metadata.labels).toMatchObject({
        'skylab/installation': 'other',
        'app.kubernetes.io/managed-by': 'skylab',
        'argocd.argoproj.io/instance': 'my-labs',
      })
      expect(metadata.annotations).toMatchObject({
        'skylab/user': 'rra',
        'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
        'argocd.argoproj.io/sync-options': 'Prune=false',
      })
    }
  })

  it('has secret values in Secrets only', () => {
    const plan = render({
      config: { lab: { token: 'bearer' } },
      request: { env: { ...specRequest.env, DB: 'postgres://ada:db-password@db/x' } },
    })
    const open = JSON.stringify(all(plan).filter(object => object.kind !== 'Secret'))
    for (const secret of ['notebook-token', 'hub-token', 'db-password']) {
      expect(open).not.toContain(secret)
      expect(JSON.stringify(plan.objects)).toContain(secret)
    }
  })

  it('returns the view that the namespace has as an annotation', () => {
    const { plan, view } = renderBoth()
    expect(parseView(projectNamespace(plan.namespace).record)).toEqual(view)
  })

  it('keeps the view as an annotation of the namespace that can be parsed', () => {
    const facts = projectNamespace(render().namespace)
    expect(parseView(facts.record)).toEqual({
      username: 'rra',
      options: specRequest.options,
      env: { ...specRequest.env, JUPYTERHUB_API_TOKEN: '***' },
      uid: 4266950,
      gid: 4266950,
      groups: [
        { name: 'lsst-data-management', id: 170034 },
        { name: 'rra', id: 4266950 },
      ],
      quotas: { limits: { cpu: 4, memory: 2 ** 34 }, requests: { cpu: 1, memory: 2 ** 32 } },
      internalUrl: 'http://nb-rra.nublado-rra:8888/nb/user/rra/',
    })
  })

  it('uses a slug for object names, and the user name for files', () => {
    const plan = render({ identity: { username: 'Ada Lovelace' } })
    const slug = 'ada-lovelace--3jy8ionjbqs8mubob67'
    expect(plan.username).toBe('Ada Lovelace')
    expect(plan.namespace.metadata).toMatchObject({
      name: `nublado-${slug}`,
      annotations: { 'skylab/user': 'Ada Lovelace' },
    })
    expect(plan.objects.at(-1)?.spec).toMatchObject({ containers: [{ workingDir: '/home/Ada Lovelace' }] })
  })

  it('refuses inputs that cannot be stored or written', () => {
    const refusals: [Changes, number][] = [
      [{ request: { env: { A: 'a'.repeat(300_000) } } }, 422],
      [{ request: { env: { JUPYTERHUB_SERVICE_PREFIX: 'x' } } }, 422],
      [{ identity: { groups: [{ name: 'a:b', id: 1 }] } }, 403],
    ]
    for (const [changes, status] of refusals) {
      expect(() => render(changes)).toThrow(ApiError)
      expect(() => render(changes)).toThrow(expect.objectContaining({ status }))
    }
  })
})

describe('renderLab’s pod', () => {
  it('has the user’s groups, each once, without the primary one', () => {
    const groups = [{ name: 'a', id: 7 }, { name: 'b', id: 4266950 }, { name: 'c', id: 7 }, { name: 'd' }]
    expect(podSpecIn(render({ identity: { groups } }))).toMatchObject({
      securityContext: { runAsUser: 4266950, runAsGroup: 4266950, supplementalGroups: [7] },
    })
  })

  it.each([
    ['tcp', { tcpSocket: { port: 'http' }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 8 }],
    ['none', undefined],
  ])('has the configured start-up probe: %s', (startupProbe, probe) => {
    const plan = render({ config: { lab: { startupProbe }, times: { spawnTimeoutSeconds: 7.5 } } })
    expect(labContainer(plan).startupProbe).toEqual(probe)
  })

  it('has the configured scheduling', () => {
    const tolerations = [{ key: 'labs', operator: 'Exists' as const }]
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }
    expect(podSpecIn(renderWith({ nodeSelector: { pool: 'labs' }, tolerations, affinity }))).toMatchObject({
      nodeSelector: { pool: 'labs' },
      tolerations,
      affinity,
    })
    for (const key of ['nodeSelector', 'tolerations', 'affinity']) expect(podSpecIn(render())).not.toHaveProperty(key)
  })

  it('has a user namespace and a RuntimeClass only when they are configured', () => {
    for (const key of ['hostUsers', 'runtimeClassName']) expect(podSpecIn(render())).not.toHaveProperty(key)
    const lab = { hostUsers: false, runtimeClassName: 'gvisor' }
    expect(podSpecIn(renderWith(lab))).toMatchObject(lab)
  })

  it('runs the configured command, with the configured grace period', () => {
    const lab = { command: ['jupyter', 'lab'], imagePullPolicy: 'Always', terminationGraceSeconds: 7 }
    expect(podSpecIn(renderWith(lab))).toMatchObject({
      terminationGracePeriodSeconds: 7,
      containers: [{ command: ['jupyter', 'lab'], imagePullPolicy: 'Always' }],
    })
  })

  it('has configured annotations, but they do not override ours', () => {
    const annotations = { 'example.org/team': 'a', 'skylab/user': 'somebody', 'argocd.argoproj.io/sync-options': 'x' }
    const plan = renderWith({ annotations })
    expect(objectOf(plan, 'Pod')?.metadata.annotations).toEqual({
      'example.org/team': 'a',
      'skylab/user': 'rra',
      'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
      'argocd.argoproj.io/sync-options': 'Prune=false',
    })
    expect(objectOf(plan, 'Service')?.metadata.annotations).not.toHaveProperty('example.org/team')
  })

  it('has the home of the configured prefix and scheme in all places', () => {
    const plan = renderWith({ homePrefix: '/data/', homeScheme: 'initialThenUsername' })
    expect(labContainer(plan)).toMatchObject({ workingDir: '/data/r/rra' })
    expect(labContainer(plan).volumeMounts).toContainEqual({ name: 'skylab-home', mountPath: '/data/r/rra' })
    const { passwd } = asObject(objectOf(plan, 'ConfigMap', '-nss')?.data)
    expect(passwd).toContain('rra:x:4266950:4266950::/data/r/rra:/bin/bash\n')
  })
})

describe('renderLab’s user and group mappings', () => {
  const nss = (lab: object) => asObject(objectOf(renderWith(lab), 'ConfigMap', '-nss')?.data)

  it('begin with the configured base', () => {
    expect(nss({ nss: { passwd: 'root:x:0:0:root:/root:/bin/sh\n', group: 'staff:x:50:\n' } })).toEqual({
      passwd: 'root:x:0:0:root:/root:/bin/sh\nrra:x:4266950:4266950::/home/rra:/bin/bash\n',
      group: 'staff:x:50:\nlsst-data-management:x:170034:rra\nrra:x:4266950:\n',
    })
  })

  it('add a missing newline to the base, and accept an empty base', () => {
    const { passwd, group } = nss({ nss: { passwd: '', group: 'staff:x:50:' } })
    expect(passwd).toBe('rra:x:4266950:4266950::/home/rra:/bin/bash\n')
    expect(group).toMatch(/^staff:x:50:\nlsst-data-management:/)
  })

  it('use the default base for the file that is not configured', () => {
    const { passwd, group } = nss({ nss: { passwd: '' } })
    expect(passwd).not.toContain('root')
    expect(group).toMatch(/^root:x:0:\n/)
  })

  it('refuse a user with a name of the base', () => {
    const base = { nss: { group: 'lsst-data-management:x:1:\n' } }
    expect(() => renderWith(base)).toThrow('The group "lsst-data-management" is taken in /etc/group')
  })
})

describe('renderLab’s secrets', () => {
  const configured = [
    { name: 'lab-secrets', key: 'butler.yaml' },
    { name: 'lab-secrets', key: 'aws', as: 'aws.ini' },
    { name: 'registry', key: '.dockerconfigjson', pull: true },
  ]
  const sources = { secrets: { 'butler.yaml': 'YQ==', 'aws.ini': 'Yg==', other: 'Yw==' }, pullSecret: 'e30=' }

  it('are the token and exactly the configured files', () => {
    const { immutable, type, stringData, data } = objectOf(
      renderWith({ token: 'bearer', secrets: configured }, { sources }),
      'Secret',
    )!
    expect({ immutable, type, stringData, data }).toEqual({
      immutable: true,
      type: 'Opaque',
      stringData: { token: 'notebook-token' },
      data: { 'butler.yaml': 'YQ==', 'aws.ini': 'Yg==' },
    })
  })

  it('are mounted at the configured path', () => {
    const mounts = asObjects(labContainer(renderWith({ secretsPath: '/opt/secrets' })).volumeMounts)
    expect(mounts).toContainEqual({ name: 'skylab-secrets', mountPath: '/opt/secrets', readOnly: true })
  })

  it('include a pull secret, which is not a file', () => {
    const plan = renderWith({ secrets: configured }, { sources })
    const { immutable, type, data } = objectOf(plan, 'Secret', '-pull')!
    expect({ immutable, type, data }).toEqual({
      immutable: true,
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': 'e30=' },
    })
    expect(podSpecIn(plan).imagePullSecrets).toEqual([{ name: 'nb-rra-pull' }])
    expect(objectOf(render(), 'Secret', '-pull')).toBeUndefined()
    expect(podSpecIn(render())).not.toHaveProperty('imagePullSecrets')
  })

  it('throw when they were not read', () => {
    expect(() => renderWith({ secrets: configured })).toThrow('nothing was read for butler.yaml')
    const inherited = { secrets: [{ name: 'a', key: 'constructor' }] }
    expect(() => renderWith(inherited)).toThrow('nothing was read for constructor')
    expect(() => renderWith({ secrets: [configured[2]!] })).toThrow('no pull secret was read')
  })

  it('accept names of inherited object properties', () => {
    const read = { secrets: JSON.parse('{"__proto__": "YQ==", "constructor": "Yg=="}') }
    const keys = { secrets: ['__proto__', 'constructor'].map(key => ({ name: 'a', key })) }
    const { data } = objectOf(renderWith(keys, { sources: read }), 'Secret')!
    expect(JSON.stringify(data)).toBe('{"__proto__":"YQ==","constructor":"Yg=="}')
  })
})

describe('withOwnership', () => {
  const { namespace, objects } = render()

  it('adds the op to the namespace, and no owner', () => {
    const sent = withOwnership(namespace, 7, null)
    expect(sent.metadata.labels).toEqual({ ...namespace.metadata.labels, 'skylab/op': '7' })
    expect(sent.metadata).not.toHaveProperty('ownerReferences')
    expect(projectNamespace(sent).op).toBe(7)
  })

  it('adds the op and the namespace as owner to all else, and changes nothing more', () => {
    for (const object of objects) {
      const sent = withOwnership(object, 7, 'namespace-uid')
      expect(sent).toEqual({
        ...object,
        metadata: {
          ...object.metadata,
          labels: { ...object.metadata.labels, 'skylab/op': '7' },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'nublado-rra', uid: 'namespace-uid' }],
        },
      })
      expect(object.metadata).not.toHaveProperty('ownerReferences')
    }
  })
})
