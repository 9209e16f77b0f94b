import { describe, expect, it } from 'vitest'
import type { Config } from '../config/schema.ts'
import { configSchema } from '../config/schema.ts'
import type { CreateRequest, Identity, KubeObject } from '../domain.ts'
import { ApiError } from '../errors.ts'
import { chooseLab } from './choose.ts'
import { asObject, asObjects } from './json.ts'
import { projectNamespace } from './project.ts'
import golden from './render.golden.json' with { type: 'json' }
import { renderLab, withOwnership } from './render.ts'
import { noSources } from './sources.ts'
import { parseView } from './view.ts'

const rra: Identity = {
  username: 'rra',
  token: 'notebook-token',
  scopes: ['exec:notebook'],
  uid: 4266950,
  gid: 4266950,
  groups: [{ name: 'lsst-data-management', id: 170034 }, { name: 'rra', id: 4266950 }, { name: 'no-number' }],
}
const specRequest: CreateRequest = {
  options: {
    enable_debug: true,
    image_list: 'lsstsqre/sciplat-lab:w_2022_37',
    reset_user_env: true,
    size: 'large',
  },
  env: {
    JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api',
    JUPYTERHUB_API_TOKEN: 'hub-token',
    JUPYTERHUB_SERVICE_PREFIX: '/nb/user/rra/',
  },
}
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
const image = {
  reference: `registry.hub.docker.com/lsstsqre/sciplat-lab:w_2022_37@${digest}`,
  tag: 'w_2022_37',
  digest,
  description: 'Weekly 2022_37',
}

interface Changes {
  readonly config?: object
  readonly identity?: Partial<Identity>
  readonly request?: Partial<CreateRequest>
}

function render(changes: Changes = {}) {
  const config: Config = configSchema.parse(changes.config ?? {})
  const identity = { ...rra, ...changes.identity }
  const request = { ...specRequest, ...changes.request }
  const choice = chooseLab(config.lab, identity, request.options)
  return renderLab({ config, identity, request, choice, image, sources: noSources })
}

const all = ({ namespace, objects }: ReturnType<typeof render>) => [namespace, ...objects]
const kinds = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
const spec = (plan: ReturnType<typeof render>, kind: string) => plan.objects.find(object => object.kind === kind)?.spec

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
    const plan = render({ request: { env: { ...specRequest.env, DB: 'postgres://ada:db-password@db/x' } } })
    const open = JSON.stringify(all(plan).filter(object => object.kind !== 'Secret'))
    for (const secret of ['notebook-token', 'hub-token', 'db-password']) {
      expect(open).not.toContain(secret)
      expect(JSON.stringify(plan.objects)).toContain(secret)
    }
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
    expect(spec(plan, 'Pod')).toMatchObject({ containers: [{ workingDir: '/home/Ada Lovelace' }] })
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
    expect(spec(render({ identity: { groups } }), 'Pod')).toMatchObject({
      securityContext: { runAsUser: 4266950, runAsGroup: 4266950, supplementalGroups: [7] },
    })
  })

  it.each([
    ['tcp', { tcpSocket: { port: 'http' }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 8 }],
    ['none', undefined],
  ])('is probed as configured: %s', (startupProbe, probe) => {
    const plan = render({ config: { lab: { startupProbe }, times: { spawnTimeoutSeconds: 7.5 } } })
    const [container] = asObjects(asObject(spec(plan, 'Pod')).containers)
    expect(container?.startupProbe).toEqual(probe)
  })

  it('goes where it is configured to go', () => {
    const tolerations = [{ key: 'labs', operator: 'Exists' as const }]
    const lab = { nodeSelector: { pool: 'labs' }, tolerations, homePrefix: '/data/home/', imagePullPolicy: 'Always' }
    expect(spec(render({ config: { lab } }), 'Pod')).toMatchObject({
      nodeSelector: { pool: 'labs' },
      tolerations,
      containers: [{ imagePullPolicy: 'Always', workingDir: '/data/home/rra' }],
    })
    expect(spec(render(), 'Pod')).not.toHaveProperty('nodeSelector')
    expect(spec(render(), 'Pod')).not.toHaveProperty('tolerations')
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
