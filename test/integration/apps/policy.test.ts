/** The policy of k8s/components/apps: each rule refuses what no other one does, and what apps are made of passes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from '../../../src/base/domain.ts'
import { type PolicyWorld, refused, rendered, secretOf } from './policy.cases.ts'
import { change, make, PolicySite, remove } from './policy-site.ts'

let world: PolicyWorld

const foreign = (namespace: string): KubeObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app-blue-2', namespace } },
  spec: {
    ...{ replicas: 0, selector: { matchLabels: { app: 'x' } } },
    template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'x', image: 'x' }] } },
  },
})

beforeAll(async () => {
  const site = await PolicySite.start()
  await site.namespace(`${site.name}-own`)
  await site.namespace(`${site.name}-lab`, { 'skylab/installation': site.name })
  const objects = rendered(site.app)
  const secret = secretOf(site.app, 'blue')
  for (const object of [...Object.values(objects), foreign(site.name), secret]) {
    const { method, path, body } = make(object)
    await site.must(method, path, body)
  }
  world = { site, app: site.app, objects, secret, foreign: foreign(site.name) }
})
afterAll(() => world?.site.close())

test.concurrent.each(refused.map(one => [one.title, one] as const))(
  'the policy refuses %s',
  async (_, { ask, words }) => {
    const { site } = world
    const { status, body } = await site.send(ask(world))
    expect([status, body.message]).toEqual([403, expect.stringContaining(words)])
  },
)

test('each rule of the policy refuses something that passes without it', async () => {
  const { site } = world
  const faults: string[] = []
  for (const [index, { message }] of site.rules.entries()) {
    const cases = refused.filter(({ words }) => message.includes(words))
    const answers = await Promise.all(cases.map(({ ask }) => site.send(ask(world), index)))
    if (!answers.some(({ body }) => !body.message?.includes('denied request'))) faults.push(message)
  }
  expect(faults).toEqual([])
})

test('the policy admits what apps are made of, and their changes and ends', async () => {
  const { site, app, objects } = world
  const asks = [
    ...[...Object.values(rendered(app, 'green')), secretOf(app, 'green')].map(make),
    change(objects.Deployment, { spec: { replicas: 0 } }),
    change(objects.Service, { spec: { ports: [{ port: 81 }] } }),
    ...Object.values(objects).map(remove),
    change(app, { spec: { stop: false }, metadata: { annotations: { 'kubeflow-resource-stopped': null } } }),
    change(app, { status: { phase: 'Ready' } }, '/status'),
  ]
  const answers = await Promise.all(asks.map(ask => site.send(ask)))
  expect(answers.filter(({ status }) => status >= 300).map(({ body }) => body.message)).toEqual([])
})
