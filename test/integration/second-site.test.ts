/** An operator applies the manifests twice on one cluster: the first installation's objects stay its own. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { kustomize } from '../../dev/kube/kustomize.ts'
import { labels } from '../../src/kube/labels.ts'
import { rbacPath } from '../kit/cluster/installation.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { applySite, readSite, writeSite } from '../kit/cluster/site.ts'
import { eventually } from '../kit/cluster/world.ts'
import { testBed } from '../kit/testbed.ts'

const drawn = randomBytes(4).toString('hex')
const { kubeconfig, kubectl } = testBed()
const admin = new AdminKube(kubeconfig)
const [one, two, three] = ['one', 'two', 'three'].map(name => `site-${name}-${drawn}`) as [string, string, string]

/**
 * The objects of a folder that have no namespace, without what servers write. Other tests change no such object, but may change
 * all others.
 */
async function clusterWide(folder: string): Promise<Record<string, object>> {
  const objects = (await readSite(folder)).filter(({ metadata }) => metadata.namespace === undefined)
  return Object.fromEntries(
    objects.map(({ metadata: { name, labels: its }, status, ...content }) => [
      `${content.kind} ${name}`,
      { labels: its, ...content },
    ]),
  )
}

const accountOf = (namespace: string) => `system:serviceaccount:${namespace}:skylab`

/** Tries to make a lab's namespace with the account of a controller in a namespace. */
function makeLab(namespace: string, installation: string): Promise<KubeAnswer> {
  const name = `${installation}-ada`
  const marks = { [labels.installation]: installation, [labels.op]: '7' }
  const made = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: marks } }
  const as = { 'Impersonate-User': accountOf(namespace), 'Impersonate-Group': 'system:serviceaccounts' }
  return admin.request('POST', '/api/v1/namespaces?dryRun=All', made, as)
}

const untilItMakesLabs = (namespace: string) =>
  eventually(`rights of ${namespace}`, async () => (await makeLab(namespace, namespace)).status === 201)

let first: string

beforeAll(async () => {
  // Rendered for `skylab`, as in docs/deploy.md: kustomize writes the account's namespace into the bindings.
  first = writeSite({ namespace: one, installation: one, rightsFor: 'skylab' })
  await applySite(first)
  expect(Object.keys(await clusterWide(first)).length).toBeGreaterThan(8)
  await untilItMakesLabs(one)
})

afterAll(async () => {
  for (const each of [one, two, three]) {
    await admin.delete('Namespace', each)
    for (const name of ['installation', 'controller', 'marks'])
      await admin.request('DELETE', `${rbacPath}/clusterrolebindings/skylab-${name}-${each}`)
    await admin.request('DELETE', `${rbacPath}/clusterroles/skylab-installation-${each}`)
  }
  admin.close()
})

describe('a second site in a namespace of its own', () => {
  test('changes no object of the cluster or of the first, with the component `second` or without', async () => {
    const site = { namespace: two, installation: two, rightsFor: two }
    const folders = [[], ['second']].map(components => writeSite({ ...site, components }))
    const before = await clusterWide(first)
    for (const folder of folders) {
      await applySite(folder)
      expect(await clusterWide(first)).toEqual(before)
    }
    await untilItMakesLabs(two)
    expect((await makeLab(one, one)).status).toBe(201)
    for (const [namespace, other] of [
      [one, two],
      [two, one],
    ] as const) {
      const { status, body } = await makeLab(namespace, other)
      expect([status, body.message]).toEqual([403, expect.stringContaining(`does not own the installation ${other}`)])
    }
  })

  test('brings with the component `second` no ClusterRole or policy but its own role', async () => {
    const folder = writeSite({ namespace: two, installation: two, rightsFor: two, components: ['second'] })
    const objects = parseAllDocuments(await kustomize(kubectl, folder)).map(each => each.toJS())
    const shared = objects.filter(
      ({ kind }) => /^ClusterRole$|Policy(Binding)?$/.test(kind) && kind !== 'NetworkPolicy',
    )
    expect(shared.map(({ metadata }) => metadata.name)).toEqual([`skylab-installation-${two}`])
    const bindings = objects.filter(({ kind }) => kind === 'ClusterRoleBinding')
    expect(bindings.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      ['controller', 'installation', 'marks'].map(name => `skylab-${name}-${two}`),
    )
  })
})

describe('a second site without a name of its own', () => {
  test.each([
    ['with the rights of the first', 'skylab', `it would be taken from ServiceAccount ${one}/skylab`],
    ['with rights of its own namespace', three, 'it belongs to the installation in the namespace skylab'],
  ])('is refused %s with a reason, and the first works on', async (_, rightsFor, words) => {
    const before = await clusterWide(first)
    await expect(applySite(writeSite({ namespace: three, installation: one, rightsFor }))).rejects.toThrow(words)
    expect(await clusterWide(first)).toEqual(before)
    expect((await makeLab(one, one)).status).toBe(201)
    const { status, body } = await makeLab(three, one)
    expect([status, body.message]).toEqual([403, expect.stringContaining('cannot create resource "namespaces"')])
  })
})

describe('a binding of a release before 0.3.0', () => {
  const name = `site-former-${drawn}`
  const path = `${rbacPath}/clusterrolebindings`
  const bindingOf = (...namespaces: string[]) => ({
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'skylab' },
    subjects: namespaces.map(namespace => ({ kind: 'ServiceAccount', name: 'skylab', namespace })),
  })
  afterAll(() => admin.request('DELETE', `${path}/${name}`))

  test('is not given to another account, but gets one more, or is removed', async () => {
    expect((await admin.request('POST', path, bindingOf(one))).status).toBe(201)
    const taken = await admin.request('PUT', `${path}/${name}`, bindingOf(two))
    expect([taken.status, taken.body.message]).toEqual([
      403,
      expect.stringContaining(`taken from ServiceAccount ${one}`),
    ])
    expect((await admin.request('PUT', `${path}/${name}`, bindingOf(one, two))).status).toBe(200)
    expect((await admin.request('PUT', `${path}/${name}`, bindingOf())).status).toBe(200)
  })
})
