import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { adaptSites, byHand } from './site.ts'

/** A checkout with one site, whose files have the given texts. */
function makeCheckout(files: Readonly<Record<string, string>>) {
  const checkout = mkdtempSync(join(tmpdir(), 'site-'))
  onTestFinished(() => rmSync(checkout, { recursive: true, force: true }))
  for (const folder of ['site', 'other', join('k8s', 'overlays', 'demo')]) {
    mkdirSync(join(checkout, folder), { recursive: true })
  }
  writeFileSync(join(checkout, 'authority'), 'PEM')
  writeFileSync(join(checkout, 'k8s', 'overlays', 'demo', 'skylab.yaml'), 'images: { registry: quay.io }\n')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(checkout, 'site', name), text)
  const values = {
    registry: '192.0.2.1:5000',
    authority: join(checkout, 'authority'),
    repository: 'lab',
    recommendedTag: 'r',
  }
  const read = (name: string) => readFileSync(join(checkout, 'site', name), 'utf8')
  return { checkout, values, read }
}

const kustomization =
  'configMapGenerator:\n  - { name: skylab-config, namespace: skylab, files: [skylab.yaml] } # a remark\n'

test('adaptSites writes registry and authority into a site, and keeps existing values', async () => {
  const { checkout, values, read } = makeCheckout({
    'kustomization.yaml': kustomization,
    'skylab.yaml': 'lab: { env: {} }\n',
  })
  await adaptSites(checkout, values)
  const { lab, images } = parse(read('skylab.yaml'))
  expect([lab, images.registry, images.docker.repository]).toEqual([{ env: {} }, '192.0.2.1:5000', 'lab'])
  const { configMapGenerator, components } = parse(read('kustomization.yaml'))
  expect(
    configMapGenerator.map(({ name, namespace }: { name: string; namespace: string }) => [name, namespace]),
  ).toEqual([
    ['skylab-config', 'skylab'],
    ['skylab-ca', 'skylab'],
  ])
  expect(components).toEqual(['../k8s/components/ca'])
  expect(read('ca.crt')).toBe('PEM')
})

test("adaptSites copies the overlay's configuration into a site that has none", async () => {
  const { checkout, values, read } = makeCheckout({ 'kustomization.yaml': kustomization })
  await adaptSites(checkout, values)
  expect(parse(read('skylab.yaml')).images.registry).toBe('192.0.2.1:5000')
})

test('adaptSites leaves an adapted site as it is', async () => {
  const { checkout, values } = makeCheckout({ 'kustomization.yaml': kustomization })
  await adaptSites(checkout, values)
  const files = ['kustomization.yaml', 'skylab.yaml'].map(name => join(checkout, 'site', name))
  const times = () => files.map(file => statSync(file, { bigint: true }).mtimeNs)
  const before = times()
  await adaptSites(checkout, values)
  expect(times()).toEqual(before)
})

test('byHand creates the tokens of the overlay demo in a new namespace', () => {
  expect(byHand('kubectl create namespace observatory')).toContain('skylab-tokens -n observatory')
  expect(byHand('kubectl get namespace observatory')).toBeNull()
})
