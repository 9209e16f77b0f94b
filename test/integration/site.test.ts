/** The contents and changes of an operator's own overlay, as docs/deploy.md describes it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { k8sFolder, kustomize } from '../../dev/kube/kustomize.ts'
import { type SiteOptions, writeSite } from '../kit/cluster/site.ts'
import { testBed } from '../kit/testbed.ts'

const page = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8')
const overlays = ['demo', 'gafaelfawr', 'oidc'] as const
const own = { namespace: 'observatory', installation: 'observatory', rightsFor: 'observatory' }

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes; each test reads other fields
type Manifest = any

async function objectsOf(more: Partial<SiteOptions>): Promise<Manifest[]> {
  const text = await kustomize(testBed().kubectl, writeSite({ ...own, ...more }))
  return parseAllDocuments(text).map(each => each.toJS())
}

/** Rows of the table under this head, as cells. */
function rowsUnder(head: string): string[][] {
  const lines = page.slice(page.indexOf(head)).split('\n').slice(2)
  return lines.slice(0, lines.indexOf('')).map(line =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}
const code = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)

describe.each(overlays)('a site over the overlay %s', overlay => {
  test('replaces every image by the names of the documentation', async () => {
    const names = rowsUnder('| `name` | image |').flatMap(([name]) => code(name!))
    const images = names.map(name => ({ name, newName: `mirror.example.org/${name}`, newTag: '1' }))
    const pods = (await objectsOf({ overlay, images })).flatMap(({ spec }) => spec?.template?.spec?.containers ?? [])
    expect(pods).toHaveLength(names.length)
    for (const { image } of pods) expect(image).toMatch(/^mirror\.example\.org\/.*:1$/)
  })

  test('uses the Secrets that the documentation lists for it', async () => {
    const rows = rowsUnder('| needed by | Secret | keys |')
    const concerned = rows.filter(([by]) => by === 'every overlay' || by === `\`k8s/overlays/${overlay}\``)
    const objects = await objectsOf({ overlay })
    expect(secretsIn(objects)).toEqual(new Set(concerned.flatMap(([, secret]) => code(secret!))))
  })

  test('moves everything to a namespace of its own', async () => {
    const objects = await objectsOf({ overlay })
    const namespaces = objects.flatMap(({ metadata }) => metadata.namespace ?? [])
    expect(new Set(namespaces)).toEqual(new Set(['observatory']))
    const subjects = objects.flatMap(each => each.subjects ?? [])
    expect(subjects.length).toBeGreaterThan(3)
    for (const subject of subjects) expect(subject).toMatchObject({ name: 'skylab', namespace: 'observatory' })
  })
})

test.each(overlays)('the overlay %s itself binds no account in the whole cluster', async overlay => {
  const text = await kustomize(testBed().kubectl, join(k8sFolder, 'overlays', overlay))
  const kinds = parseAllDocuments(text).map(each => each.toJS().kind)
  expect(kinds).toContain('ClusterRole')
  expect(kinds).not.toContain('ClusterRoleBinding')
})

test('the component `ca` makes the controller trust a certificate of the site', async () => {
  const objects = await objectsOf({ components: ['ca', 'api-tls'], files: { 'skylab-ca': ['ca.crt', 'PEM'] } })
  const { spec } = objects.find(({ kind }) => kind === 'Deployment').spec.template
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('skylab-ca-'))
  expect(map.data).toEqual({ 'ca.crt': 'PEM' })
  expect(spec.volumes).toContainEqual({ name: 'ca', configMap: { name: map.metadata.name } })
  const [{ env, volumeMounts }] = spec.containers
  expect(env).toEqual([{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/skylab/ca/ca.crt' }])
  expect(volumeMounts).toContainEqual({ name: 'ca', mountPath: '/etc/skylab/ca', readOnly: true })
  expect(volumeMounts).toHaveLength(4)
})

test('a second sealing key becomes a file beside the first', async () => {
  const { spec } = (await objectsOf({})).find(({ kind }) => kind === 'Deployment').spec.template
  const { projected } = spec.volumes.find(({ name }: Manifest) => name === 'secrets')
  const sealing = projected.sources.find(({ secret }: Manifest) => secret.name === 'skylab-sealing')
  expect(sealing).toEqual({ secret: { name: 'skylab-sealing' } })
})

/** Names of Secrets that pods and ingresses use. */
function secretsIn(objects: Manifest[]): Set<string> {
  const volumes = objects.flatMap(({ spec }) => spec?.template?.spec?.volumes ?? [])
  const ofPods = volumes.flatMap(({ secret, projected }) => [
    ...(secret ? [secret.secretName] : []),
    ...(projected?.sources ?? []).map((source: Manifest) => source.secret.name),
  ])
  const ofIngresses = objects.filter(({ kind }) => kind === 'Ingress').flatMap(({ spec }) => spec.tls ?? [])
  return new Set([...ofPods, ...ofIngresses.map(({ secretName }) => secretName)])
}
