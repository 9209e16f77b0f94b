/** The definition of PhApplication at a real API server, in an API group of its own, so that no other test sees it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asObject, type JsonObject } from '../../../src/base/json.ts'
import { fieldsWithoutWords, OwnDefinition, readDefinition } from '../../kit/apps/own-definition.ts'
import { seedApp } from '../../kit/apps/seed.ts'
import { badApps, oddApps } from './definition.cases.ts'

const definition = readDefinition('definition')
let own: OwnDefinition

beforeAll(async () => {
  own = await OwnDefinition.start(definition)
})
afterAll(() => own?.stop())

const post = (app: JsonObject, query?: string) => own.post(app, query)

test('the API server keeps the application of the seed as it is printed, but its status', async () => {
  const { status: _, ...sent } = seedApp()
  const { status, body } = await post(seedApp(), '?dryRun=All&fieldValidation=Strict')
  expect([status, body.message]).toEqual([201, undefined])
  expect(body).toMatchObject({ ...own.here(sent), spec: { ...asObject(sent.spec), rewrite: false } })
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
  const { kube } = own
  const path = `${own.path}/${body.metadata.name}`
  const moved = await kube.request('PATCH', path, { spec: { groupName: 'others' } })
  expect(moved.status).toBe(422)
  expect(moved.body.message).toContain('groupName cannot be changed: data, quota and network of the app depend on it')
  const opened = await kube.request('PATCH', path, { spec: { scope: 'public' } })
  expect(opened.body).toMatchObject({ spec: { scope: 'public' }, metadata: { generation: 2 } })
  const told = await kube.request('PATCH', `${path}/status`, { status: { phase: 'Ready' } })
  expect(told.body).toMatchObject({ status: { phase: 'Ready' }, metadata: { generation: 2 } })
})

test('the definition has words for every field', () => {
  expect(fieldsWithoutWords(definition)).toEqual([])
})
