/** The definition of PhAppTemplate at a real API server, in an API group of its own, so that no other test sees it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asObject, asObjects, type JsonObject } from '../../../src/base/json.ts'
import { valueAt } from '../../../src/reconcile/merge.ts'
import { fieldsWithoutWords, OwnDefinition, readDefinition, schemaOf } from '../../kit/apps/own-definition.ts'
import { seedTemplate } from '../../kit/apps/seed.ts'
import { badTemplates } from './template-definition.cases.ts'

const definition = readDefinition('template-definition')
let own: OwnDefinition

beforeAll(async () => {
  own = await OwnDefinition.start(definition)
})
afterAll(() => own?.stop())

test('the API server keeps the template of the seed as it is printed', async () => {
  const { status, body } = await own.post(seedTemplate(), '?dryRun=All&fieldValidation=Strict')
  expect([status, body.message]).toEqual([201, undefined])
  expect(body).toMatchObject(asObject({ spec: seedTemplate().spec }))
})

test.each(badTemplates.map(row => [row.sent, row] as const))(
  'the API server refuses a template with %s',
  async (_, { body, words }) => {
    const answer = await own.post(body())
    expect(answer.status).toBe(422)
    expect(answer.body.message).toContain(words)
  },
)

test('the definition of templates has words for every field', () => {
  expect(fieldsWithoutWords(definition)).toEqual([])
})

test('what a template can make is what an app can be, word for word', () => {
  const ofTemplate = asObject(
    valueAt(schemaOf(definition), 'properties spec properties template properties spec'.split(' ')),
  )
  const ofApp = asObject(valueAt(schemaOf(readDefinition('definition')), ['properties', 'spec']))
  const properties = asObject(ofApp.properties)
  const own = ['podTemplate', 'svcTemplate', 'httpPort', 'rewrite']
  expect(ofTemplate.properties).toEqual(Object.fromEntries(own.map(name => [name, properties[name]])))
  expect(ofTemplate['x-kubernetes-validations']).toEqual(ofApp['x-kubernetes-validations'])
})

test('who may see pods may see templates, and nobody gets the right to write them by aggregation', async () => {
  const roles = asObjects(await (await import('../../../dev/kube/apps.ts')).appsObjects()).filter(
    ({ kind, metadata }) => kind === 'ClusterRole' && asObject(metadata).labels !== undefined,
  )
  const granted = roles.flatMap(role =>
    asObjects(role.rules)
      .filter(({ resources }) => (resources as string[]).includes('phapptemplates'))
      .map(({ verbs }): JsonObject => ({ role: asObject(role.metadata).name, verbs })),
  )
  expect(granted).toEqual([{ role: 'skylab:apps:view', verbs: ['get', 'list', 'watch'] }])
})
