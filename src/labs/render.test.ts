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
  specRequest,
} from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { asObject, asObjects } from '../base/json.ts'
import { projectNamespace } from '../kube/pods/project.ts'
import golden from './render.golden.json' with { type: 'json' }
import { withOwnership } from './render.ts'
import { parseView } from './view.ts'

const kinds = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)

describe('renderLab', () => {
  it('renders this lab to the last field', () => {
    expect(all(render())).toEqual(golden)
  })

  it('makes what the pod needs before the pod', () => {
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

  it('marks every object: whose, by whom, and for Argo CD', () => {
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

  it('has secrets in Secrets and nowhere else', () => {
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

  it('returns the very view that the namespace bears', () => {
    const { plan, view } = renderBoth()
    expect(parseView(projectNamespace(plan.namespace).record)).toEqual(view)
  })

  it('keeps the view with the namespace, as it can be read back', () => {
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

  it('uses a slug for names, and the true name for files', () => {
    const plan = render({ identity: { username: 'Ada Lovelace' } })
    const slug = 'ada-lovelace--3jy8ionjbqs8mubob67'
    expect(plan.username).toBe('Ada Lovelace')
    expect(plan.namespace.metadata).toMatchObject({
      name: `nublado-${slug}`,
      annotations: { 'skylab/user': 'Ada Lovelace' },
    })
    expect(plan.objects.at(-1)?.spec).toMatchObject({ containers: [{ workingDir: '/home/Ada Lovelace' }] })
  })

  it('refuses what cannot be kept or written', () => {
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

describe('the pod', () => {
  it('has the user’s groups, each once, without the primary one', () => {
    const groups = [{ name: 'a', id: 7 }, { name: 'b', id: 4266950 }, { name: 'c', id: 7 }, { name: 'd' }]
    expect(podSpecIn(render({ identity: { groups } }))).toMatchObject({
      securityContext: { runAsUser: 4266950, runAsGroup: 4266950, supplementalGroups: [7] },
    })
  })

  it.each([
    ['tcp', { tcpSocket: { port: 'http' }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 8 }],
    ['none', undefined],
  ])('is probed as configured: %s', (startupProbe, probe) => {
    const plan = render({ config: { lab: { startupProbe }, times: { spawnTimeoutSeconds: 7.5 } } })
    expect(labContainer(plan).startupProbe).toEqual(probe)
  })

  it('goes where it is configured to go', () => {
    const tolerations = [{ key: 'labs', operator: 'Exists' as const }]
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }
    expect(podSpecIn(renderWith({ nodeSelector: { pool: 'labs' }, tolerations, affinity }))).toMatchObject({
      nodeSelector: { pool: 'labs' },
      tolerations,
      affinity,
    })
    for (const key of ['nodeSelector', 'tolerations', 'affinity']) expect(podSpecIn(render())).not.toHaveProperty(key)
  })

  it('has a user namespace and a RuntimeClass only where they are configured', () => {
    for (const key of ['hostUsers', 'runtimeClassName']) expect(podSpecIn(render())).not.toHaveProperty(key)
    const lab = { hostUsers: false, runtimeClassName: 'gvisor' }
    expect(podSpecIn(renderWith(lab))).toMatchObject(lab)
  })

  it('runs what it is configured to run, and is given time to end', () => {
    const lab = { command: ['jupyter', 'lab'], imagePullPolicy: 'Always', terminationGraceSeconds: 7 }
    expect(podSpecIn(renderWith(lab))).toMatchObject({
      terminationGracePeriodSeconds: 7,
      containers: [{ command: ['jupyter', 'lab'], imagePullPolicy: 'Always' }],
    })
  })

  it('bears configured annotations, of which ours are none', () => {
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

  it('has its home where prefix and scheme put it, for all who ask', () => {
    const plan = renderWith({ homePrefix: '/data/', homeScheme: 'initialThenUsername' })
    expect(labContainer(plan)).toMatchObject({ workingDir: '/data/r/rra' })
    expect(labContainer(plan).volumeMounts).toContainEqual({ name: 'skylab-home', mountPath: '/data/r/rra' })
    const { passwd } = asObject(objectOf(plan, 'ConfigMap', '-nss')?.data)
    expect(passwd).toContain('rra:x:4266950:4266950::/data/r/rra:/bin/bash\n')
  })
})

describe('user and group mappings', () => {
  const nss = (lab: object) => asObject(objectOf(renderWith(lab), 'ConfigMap', '-nss')?.data)

  it('begin with the configured base', () => {
    expect(nss({ nss: { passwd: 'root:x:0:0:root:/root:/bin/sh\n', group: 'staff:x:50:\n' } })).toEqual({
      passwd: 'root:x:0:0:root:/root:/bin/sh\nrra:x:4266950:4266950::/home/rra:/bin/bash\n',
      group: 'staff:x:50:\nlsst-data-management:x:170034:rra\nrra:x:4266950:\n',
    })
  })

  it('begin with whole lines, or with none', () => {
    const { passwd, group } = nss({ nss: { passwd: '', group: 'staff:x:50:' } })
    expect(passwd).toBe('rra:x:4266950:4266950::/home/rra:/bin/bash\n')
    expect(group).toMatch(/^staff:x:50:\nlsst-data-management:/)
  })

  it('have a base of their own where one of them is not configured', () => {
    const { passwd, group } = nss({ nss: { passwd: '' } })
    expect(passwd).not.toContain('root')
    expect(group).toMatch(/^root:x:0:\n/)
  })

  it('leave no name of the base to a user', () => {
    const base = { nss: { group: 'lsst-data-management:x:1:\n' } }
    expect(() => renderWith(base)).toThrow('The group "lsst-data-management" is taken in /etc/group')
  })
})

describe('secrets', () => {
  const configured = [
    { name: 'lab-secrets', key: 'butler.yaml' },
    { name: 'lab-secrets', key: 'aws', as: 'aws.ini' },
    { name: 'registry', key: '.dockerconfigjson', pull: true },
  ]
  const sources = { secrets: { 'butler.yaml': 'YQ==', 'aws.ini': 'Yg==', other: 'Yw==' }, pullSecret: 'e30=' }

  it('are files beside the token, and nothing but those that are configured', () => {
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

  it('stand where they are configured to', () => {
    const mounts = asObjects(labContainer(renderWith({ secretsPath: '/opt/secrets' })).volumeMounts)
    expect(mounts).toContainEqual({ name: 'skylab-secrets', mountPath: '/opt/secrets', readOnly: true })
  })

  it('of which one pulls images, and is no file', () => {
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

  it('that nobody read are no lab', () => {
    expect(() => renderWith({ secrets: configured })).toThrow('nothing was read for butler.yaml')
    const inherited = { secrets: [{ name: 'a', key: 'constructor' }] }
    expect(() => renderWith(inherited)).toThrow('nothing was read for constructor')
    expect(() => renderWith({ secrets: [configured[2]!] })).toThrow('no pull secret was read')
  })

  it('may be called like what every object of JavaScript has', () => {
    const read = { secrets: JSON.parse('{"__proto__": "YQ==", "constructor": "Yg=="}') }
    const keys = { secrets: ['__proto__', 'constructor'].map(key => ({ name: 'a', key })) }
    const { data } = objectOf(renderWith(keys, { sources: read }), 'Secret')!
    expect(JSON.stringify(data)).toBe('{"__proto__":"YQ==","constructor":"Yg=="}')
  })
})

describe('withOwnership', () => {
  const { namespace, objects } = render()

  it('gives the namespace its op, and no owner', () => {
    const sent = withOwnership(namespace, 7, null)
    expect(sent.metadata.labels).toEqual({ ...namespace.metadata.labels, 'skylab/op': '7' })
    expect(sent.metadata).not.toHaveProperty('ownerReferences')
    expect(projectNamespace(sent).op).toBe(7)
  })

  it('gives all else its op and that very namespace as owner, and changes nothing more', () => {
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
