/** The API server's view of a lab with everything configured at once. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { withOwnership } from '../../src/labs/render.ts'
import { grantInstallation, revokeInstallation } from '../kit/cluster/installation.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { asTaken, createStrictly } from '../kit/cluster/strict.ts'
import { eventually } from '../kit/cluster/world.ts'
import { renderEverything } from '../kit/labs/plan.ts'
import { testBed } from '../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
const controller = new AdminKube(testBed().controllerKubeconfig)
const { lab } = parse(readFileSync(new URL('../../docs/examples/lab.yaml', import.meta.url), 'utf8'))
const installation = `all-${randomBytes(4).toString('hex')}`
const changes = { namespacePrefix: installation, runtimeClassName: installation }
const plan = renderEverything(lab, changes, installation)
const mounts = lab.volumes.map(({ name }: { name: string }) => ({ volume: name, path: `/volumes/${name}` }))
const config = { installation, lab: { ...lab, mounts: [...lab.mounts, ...mounts], ...changes } }
const runtimeClasses = '/apis/node.k8s.io/v1/runtimeclasses'

beforeAll(async () => {
  const metadata = { name: installation }
  const runtime = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata, handler: 'x' }
  expect((await admin.request('POST', runtimeClasses, runtime)).status).toBe(201)
  await grantInstallation(admin, config)
})

afterAll(async () => {
  await admin.delete('Namespace', plan.namespace.metadata.name)
  await admin.request('DELETE', `${runtimeClasses}/${installation}`)
  await revokeInstallation(admin, config)
  admin.close()
  controller.close()
})

test('the API server keeps every object of a lab as sent, with every quantity as written', async () => {
  const namespace = await controller.create(withOwnership(plan.namespace, 7, null))
  for (const planned of plan.objects) {
    const object = withOwnership(planned, 7, namespace.metadata.uid!)
    const what = `${object.kind} ${object.metadata.name}`
    let answer: KubeAnswer = { status: 0, body: null }
    // A new namespace lacks its ServiceAccount, and its quota is not counted yet.
    await eventually(`${what} is taken`, async () => {
      answer = await createStrictly(controller, object)
      return answer.status !== 403
    })
    expect(answer.status, `${what}: ${answer.body.message}`).toBe(201)
    expect(answer.body, what).toMatchObject(asTaken(object))
  }
})
