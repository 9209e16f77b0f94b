/** The definition of PhApplication at a real API server, in an API group of its own, so that no other test sees it. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { KubeObject } from '../../../src/base/domain.ts'
import { asObject, type JsonObject } from '../../../src/base/json.ts'
import { seedApp } from '../../kit/apps/seed.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { testBed } from '../../kit/testbed.ts'
import { badApps, oddApps } from './definition.cases.ts'

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = `t${randomBytes(4).toString('hex')}.primehub.test`
const name = `phapplications.${group}`
const file = new URL('../../../k8s/components/apps/definition.yaml', import.meta.url)
const definition: KubeObject = parse(readFileSync(file, 'utf8'), { merge: true })
const apps = `/apis/${group}/v1alpha1/namespaces/default/phapplications`

let kube: AdminKube

beforeAll(async () => {
  kube = new AdminKube(testBed().kubeconfig)
  const spec = {
    ...asObject(definition.spec),
    group,
    names: { ...asObject(asObject(definition.spec).names), shortNames: [] },
  }
  const { status, body } = await kube.request('POST', crds, { ...definition, metadata: { name }, spec })
  expect([status, body.message]).toEqual([201, undefined])
  await eventually('PhApplications are served', async () => (await kube.request('GET', apps)).status === 200)
})
afterAll(async () => {
  await kube?.request('DELETE', `${crds}/${name}`)
  kube?.close()
})

const here = (app: JsonObject): JsonObject => ({
  ...app,
  apiVersion: `${group}/v1alpha1`,
  metadata: { ...asObject(app.metadata), namespace: 'default' },
})
const post = (app: JsonObject, query = '?dryRun=All') => kube.request('POST', apps + query, here(app))

test('the API server keeps the application of the seed as it is printed, but its status', async () => {
  const { status: _, ...sent } = seedApp()
  const { status, body } = await post(seedApp(), '?dryRun=All&fieldValidation=Strict')
  expect([status, body.message]).toEqual([201, undefined])
  expect(body).toMatchObject({ ...here(sent), spec: { ...asObject(sent.spec), rewrite: false } })
  expect(body.status).toBeUndefined()
})

test.each(badApps.map(row => [row.sent, row] as const))('the API server refuses %s', async (_, { body, words }) => {
  const answer = await post(body())
  expect(answer.status).toBe(422)
  expect(answer.body.message).toContain(words)
})

test.each(oddApps.map(row => [row.sent, row] as const))('the API server accepts %s', async (_, { body }) => {
  const answer = await post(body())
  expect([answer.status, answer.body.message]).toEqual([201, undefined])
  expect(answer.body).toMatchObject(asObject({ spec: body().spec }))
})

test('the API server refuses another group for an app that stands, and accepts another scope', async () => {
  const { status, body } = await post(seedApp(), '')
  expect([status, body.message]).toEqual([201, undefined])
  const path = `${apps}/${body.metadata.name}`
  const moved = await kube.request('PATCH', path, { spec: { groupName: 'others' } })
  expect(moved.status).toBe(422)
  expect(moved.body.message).toContain('groupName cannot be changed: data, quota and network of the app depend on it')
  const opened = await kube.request('PATCH', path, { spec: { scope: 'public' } })
  expect(opened.body).toMatchObject({ spec: { scope: 'public' }, metadata: { generation: 2 } })
  const told = await kube.request('PATCH', `${path}/status`, { status: { phase: 'Ready' } })
  expect(told.body).toMatchObject({ status: { phase: 'Ready' }, metadata: { generation: 2 } })
})

test('the definition has words for every field', () => {
  const without: string[] = []
  const walk = (schema: JsonObject, path: string): void => {
    for (const [field, inner] of Object.entries(asObject(schema.properties))) {
      const at = `${path}.${field}`
      if (field !== 'metadata' && asObject(inner).description === undefined) without.push(at)
      walk(asObject(inner), at)
    }
    if (schema.items) walk(asObject(schema.items), `${path}[]`)
  }
  const [version] = asObject(definition.spec).versions as readonly JsonObject[]
  walk(asObject(asObject(version!.schema).openAPIV3Schema), '')
  expect(without).toEqual([])
})
