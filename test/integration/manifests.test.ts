/** The manifests for operators: a real API server accepts each overlay, and its parts fit together. */
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { k8sFolder, kustomize } from '../../dev/kube/kustomize.ts'
import { configSchema } from '../../src/config/schema.ts'
import { crossProblems } from '../../src/settings/checks.ts'
import { defineGafaelfawr } from '../kit/cluster/gafaelfawr-crd.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../kit/cluster/manifests.ts'
import { testBed } from '../kit/testbed.ts'

const { kubectl, kubeconfig, stateDir } = testBed()
const admin = new AdminKube(kubeconfig)
const overlays = ['demo', 'gafaelfawr', 'oidc'] as const

const texts: Record<string, string> = {}
const objectsOf = (overlay: string): Manifest[] => parseAllDocuments(texts[overlay]!).map(each => each.toJS())
const find = (overlay: string, kind: string, name = 'skylab'): Manifest =>
  objectsOf(overlay).find(each => each.kind === kind && each.metadata.name.startsWith(name))

beforeAll(async () => {
  for (const overlay of overlays) texts[overlay] = await kustomize(kubectl, join(k8sFolder, 'overlays', overlay))
  await defineGafaelfawr(admin)
})
afterAll(() => admin.close())

describe.each(overlays)('overlay %s', overlay => {
  test('is accepted by the API server', async () => {
    const answer = await tryOut(texts[overlay]!)
    expect(answer.trim().split('\n')).toHaveLength(objectsOf(overlay).length)
    expect(answer).toContain('deployment.apps/skylab serverside-applied (server dry run)')
  })

  test('has a configuration that replicas accept, with existing files', () => {
    const { data } = find(overlay, 'ConfigMap', 'skylab-config')
    const config = configSchema.parse(parse(data['skylab.yaml'], { version: '1.1' }))
    expect(crossProblems(config)).toEqual([])
    expect(config.identity.provider).toBe(overlay === 'demo' ? 'static' : overlay)
    const files: string[] = data['skylab.yaml'].match(/\/etc\/skylab\/[\w./-]+/g)
    expect(files).toEqual(expect.arrayContaining(['/etc/skylab/secrets/sealing.key']))
    expect(mountedFiles(find(overlay, 'Deployment'))).toEqual(expect.arrayContaining(files))
  })

  test('uses Secrets that have an example, and contains none', () => {
    const known = Object.entries(forms).flatMap(([name, keys]) => keys.map(key => `${name} ${key}`))
    const asked = objectsOf(overlay).flatMap(({ spec }) => secretsOf(spec?.template?.spec.volumes ?? []))
    expect(asked.length).toBeGreaterThan(2)
    expect(known).toEqual(expect.arrayContaining(asked))
    expect(objectsOf(overlay).filter(({ kind }) => kind === 'Secret')).toEqual([])
  })

  test('replaces the pods when the configuration changes', () => {
    const volumes: Manifest[] = find(overlay, 'Deployment').spec.template.spec.volumes
    const name = volumes.find(({ configMap }) => configMap).configMap.name
    expect(name).toMatch(/^skylab-config-[a-z0-9]{10}$/)
    expect(find(overlay, 'ConfigMap', 'skylab-config').metadata.name).toBe(name)
  })

  test.each(['Deployment', 'StatefulSet'])('has a %s that the strictest pod security standard allows', async kind => {
    const { template } = find(overlay, kind).spec
    const spec = {
      ...template.spec,
      volumes: template.spec.volumes.concat(
        find(overlay, kind).spec.volumeClaimTemplates ? [{ name: 'data', emptyDir: {} }] : [],
      ),
    }
    const admit = (pod: Manifest) =>
      admin.request('POST', '/api/v1/namespaces/skylab/pods?dryRun=All', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { generateName: 'try-', labels: template.metadata.labels },
        spec: { ...pod, serviceAccountName: 'default' },
      })
    expect((await admit(spec)).body).toMatchObject({ kind: 'Pod' })
    const lax = await admit({ ...spec, securityContext: {} })
    expect([lax.status, lax.body.message]).toEqual([403, expect.stringContaining('violates PodSecurity "restricted')])
    const [container] = spec.containers
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  })
})

test('the overlay demo with TLS inside is accepted, and has certificates where docs/tls.md says', async () => {
  const folder = mkdtempSync(join(stateDir, 'by-tls-'))
  const from = (...path: string[]) => relative(realpathSync(folder), join(realpathSync(k8sFolder), ...path))
  const site = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [from('overlays', 'demo')],
    components: [from('components', 'api-tls'), from('components', 'redis-tls')],
  }
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(site))
  texts.byTls = await kustomize(kubectl, folder)
  expect(await tryOut(texts.byTls)).toContain('statefulset.apps/skylab-redis serverside-applied (server dry run)')
  const page = readFileSync(new URL('../../docs/tls.md', import.meta.url), 'utf8')
  const named = new Set(page.match(/\/etc\/skylab\/(tls|redis-tls)(?=\/)/g))
  const mounts: Manifest[] = find('byTls', 'Deployment').spec.template.spec.containers[0].volumeMounts
  expect(mounts.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining([...named]))
  expect(find('byTls', 'StatefulSet').spec.template.spec.containers[0].command).toEqual(
    expect.arrayContaining(['--port', '0', '--tls-port', '6379', '/etc/redis/tls/tls.crt']),
  )
  expect(find('byTls', 'Service').spec.ports[0]).toMatchObject({ name: 'http', appProtocol: 'https' })
})

test('the API server refuses a manifest with an unknown word', async () => {
  const broken = texts.demo!.replace('readOnlyRootFilesystem: true', 'readOnlyRoot: true')
  await expect(tryOut(broken)).rejects.toThrow(/readOnlyRoot: field not declared/)
})

test('a pod has enough time to end', () => {
  const { spec } = find('demo', 'Deployment').spec.template
  const { times, api } = configSchema.parse({})
  const preStop = spec.containers[0].lifecycle.preStop.sleep.seconds
  expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + times.drainSeconds + 5)
  expect(spec.containers[0].ports).toEqual(
    [
      { name: 'http', containerPort: api.port },
      { name: 'monitoring', containerPort: api.monitoringPort },
    ].map(port => expect.objectContaining(port)),
  )
  // A Service named skylab would set SKYLAB_PORT to an address.
  expect(spec.enableServiceLinks).toBe(false)
})

describe.each(overlays)('the monitoring port in the overlay %s', overlay => {
  test('has the probes, and no Service or ingress', () => {
    const [container] = find(overlay, 'Deployment').spec.template.spec.containers
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      expect(container[probe].httpGet.port, probe).toBe('monitoring')
    }
    const outward = objectsOf(overlay).filter(({ kind }) => /^(Service|.*Ingress)$/.test(kind))
    expect(outward.length).toBeGreaterThan(0)
    expect(JSON.stringify(outward)).not.toMatch(/monitoring|8081/)
    expect(find(overlay, 'Service').spec.ports).toEqual([expect.objectContaining({ name: 'http', targetPort: 'http' })])
  })

  test('is open to Prometheus only, and the port of the API to the ingress only', () => {
    const policies = objectsOf(overlay).filter(({ kind }) => kind === 'NetworkPolicy')
    const { spec } = policies.find(({ metadata }) => metadata.name === 'skylab')
    const ways = spec.ingress.map(({ from, ports }: Manifest) => [
      from[0].podSelector.matchLabels['app.kubernetes.io/name'],
      ports.map(({ port }: Manifest) => port),
    ])
    expect(ways).toEqual([
      ['ingress-nginx', ['http']],
      ['prometheus', ['monitoring']],
    ])
  })
})

describe('the ingresses of Gafaelfawr', () => {
  const prefix = '/nublado/spawner/v1'
  const both = ['exec:notebook', 'admin:jupyterlab']

  /** As nginx chooses when a path of a host is a regular expression: the longest first, each anchored at its start. */
  function ingressOf(path: string): Manifest {
    const rules = objectsOf('gafaelfawr')
      .filter(({ kind }) => kind === 'GafaelfawrIngress')
      .flatMap(ingress => ingress.template.spec.rules[0].http.paths.map((rule: Manifest) => ({ ...rule, ingress })))
    const matches = ({ path: expression, pathType }: Manifest) =>
      pathType === 'Exact' ? path === expression : new RegExp(`^${expression}`, 'i').test(path)
    return rules.sort((a, b) => b.path.length - a.path.length).find(matches)?.ingress.config
  }

  // The scopes of SQR-066 by route; the first four need the user of the lab.
  test.each([
    ['/labs/ada/create', ['exec:notebook'], true],
    ['/labs/ada/events', ['exec:notebook'], true],
    ['/lab-form/ada', ['exec:notebook'], true],
    ['/user-status', ['exec:notebook'], true],
    ['/labs', ['admin:jupyterlab'], false],
    ['/labs/ada', ['admin:jupyterlab'], false],
    ['/labs/create', ['admin:jupyterlab'], false],
    ['/images', ['admin:jupyterlab'], false],
    ['/prepulls', ['admin:jupyterlab'], false],
    ['/openapi.json', both, false],
    ['/docs', both, false],
  ])('protect %s by scope %s, with a delegated token: %s', (path, scopes, delegated) => {
    const config = ingressOf(prefix + path)
    expect(config.scopes.all ?? config.scopes.any).toEqual(scopes)
    expect(config.delegate).toEqual(delegated ? { notebook: {} } : undefined)
  })

  test.each(['/healthz', '/readyz', '/metrics', '/', prefix])('do not let %s in', path => {
    expect(ingressOf(path)).toBeUndefined()
  })

  test('of users and of administrators send different secrets, and the published example opens nothing', () => {
    const ingresses = objectsOf('gafaelfawr').filter(({ kind }) => kind === 'GafaelfawrIngress')
    const snippets = ingresses.map(({ metadata, template }) => [
      metadata.name,
      template.metadata.annotations['nginx.ingress.kubernetes.io/configuration-snippet'],
    ])
    const empty = 'proxy_set_header X-Skylab-Ingress-Secret "";'
    expect(Object.fromEntries(snippets)).toEqual({
      'skylab-user': empty,
      'skylab-admin': empty,
      'skylab-docs': undefined,
    })
    const files = mountedFiles(find('gafaelfawr', 'Deployment')).filter(file => file.includes('ingress'))
    expect(files).toEqual(['/etc/skylab/secrets/ingress-user.secret', '/etc/skylab/secrets/ingress-admin.secret'])
  })
})
