/** The policy of k8s/components/apps: each rule refuses what no other one does, and what apps are made of passes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { groupMark } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { tenantLabels } from '../../../src/tenants/words.ts'
import { seedTemplate } from '../../kit/apps/seed.ts'
import { at, type PolicyWorld, refused, rendered, secretOf } from './policy.cases.ts'
import { change, make, PolicySite } from './policy-site.ts'

let world: PolicyWorld

const foreign = (namespace: string): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'app-red', namespace } },
  spec: { ports: [{ port: 1 }] },
})

beforeAll(async () => {
  const site = await PolicySite.start()
  await site.namespace(`${site.name}-own`, groupMark)
  await site.namespace(`${site.name}-lab`, { ...groupMark, 'skylab/installation': site.name })
  await site.namespace(`${site.name}-tenant`, { [tenantLabels.uid]: 'uid' })
  await site.namespace(`${site.name}-else`, { 'skylab/apps': 'false' })
  const objects = rendered(site.app)
  const secret = secretOf(site.app, 'blue')
  const elsewhere = rendered(await site.application(`${site.name}-else`)).Deployment
  const template: KubeObject = { ...seedTemplate(), metadata: { name: 'mlflow', namespace: site.name } }
  for (const object of [...Object.values(objects), foreign(site.name), secret, elsewhere, template]) {
    const { method, path, body } = make(object)
    await site.must(method, path, body)
  }
  world = { site, app: site.app, objects, secret, foreign: foreign(site.name), elsewhere, template }
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

test('the policy admits what apps are made of, and their changes', async () => {
  const { site, app, objects } = world
  const asks = [
    ...[...Object.values(rendered(app, 'green')), secretOf(app, 'green')].map(make),
    make({ ...app, metadata: { name: 'green', namespace: app.metadata.namespace!, annotations: { a: 'b' } } }),
    change(objects.Deployment, { spec: { replicas: 0 } }),
    change(objects.Service, { spec: { ports: [{ port: 81 }] } }),
    make(at(rendered(app, 'green').Service, 'metadata.namespace', `${site.name}-tenant`)),
    change(world.elsewhere, { spec: { replicas: 0 } }),
    change(app, { spec: { stop: false }, metadata: { annotations: { 'kubeflow-resource-stopped': null } } }),
    change(app, { status: { phase: 'Ready' } }, '/status'),
    make({ ...world.template, metadata: { name: 'green', namespace: `${site.name}-own`, annotations: { a: 'b' } } }),
    change(world.template, { spec: { version: '2' } }),
  ]
  const answers = await Promise.all(asks.map(ask => site.send(ask)))
  expect(answers.filter(({ status }) => status >= 300).map(({ body }) => body.message)).toEqual([])
})
