/** What is not an app's own stays as it is, and an id has one app, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appParent } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { eventually } from '../../kit/cluster/world.ts'

let fleet: AppFleet
beforeAll(async () => {
  fleet = await AppFleet.start({ groups: ['a', 'b'] })
})
afterAll(() => fleet?.stop())

const podSpec = { containers: [{ name: 'x', image: 'x' }] }
const template = { metadata: { labels: { app: 'x' } }, spec: podSpec }
/** Objects of a stranger. */
const planted = {
  Deployment: { spec: { replicas: 0, selector: { matchLabels: { app: 'x' } }, template } },
  Service: { spec: { ports: [{ port: 1 }] } },
  NetworkPolicy: { spec: { podSelector: { matchLabels: { app: 'x' } } } },
} as const
type Kind = keyof typeof planted
const groups = { Deployment: 'apps/v1', Service: 'v1', NetworkPolicy: 'networking.k8s.io/v1' } as const
const plurals = { Deployment: 'deployments', Service: 'services', NetworkPolicy: 'networkpolicies' } as const

function pathOf(kind: Kind, namespace: string, name = ''): string {
  const version = groups[kind]
  const root = version === 'v1' ? '/api/v1' : `/apis/${version}`
  return `${root}/namespaces/${namespace}/${plurals[kind]}${name && `/${name}`}`
}

const plant = (kind: Kind, namespace: string, name: string, metadata: object = {}): Promise<KubeObject> =>
  fleet.must('POST', pathOf(kind, namespace), { metadata: { name, ...metadata }, ...planted[kind] })

test.each([
  ['Deployment', ''],
  ['Service', ''],
  ['NetworkPolicy', '-group'],
  ['NetworkPolicy', '-proxy'],
] as const)('an app leaves a stranger’s %s of the name app-ID%s as it is', async (kind, end) => {
  const id = `planted-${kind.toLowerCase()}${end}`
  const name = `app-${id}${end}`
  const [namespace, before] = [fleet.of('a'), await plant(kind, fleet.of('a'), name)]
  await fleet.make(id)
  const { message } = await fleet.phase(id, 'Error')
  expect(message).toBe(`Conflict: the ${kind} ${namespace}/${name} exists, and is not that of this app`)
  const { metadata, spec } = await fleet.must('GET', pathOf(kind, namespace, name))
  expect([metadata.uid, metadata.ownerReferences, spec]).toEqual([before.metadata.uid, undefined, before.spec])
})

test('a namespace of no group gets nothing, and keeps what another installation made there', async () => {
  const other = `${fleet.name}-other`
  await fleet.namespace(other)
  const path = `/apis/${appParent.apiVersion}/namespaces/${other}/phapplications`
  const spec = (await fleet.make('example', { stop: true })).spec
  const app = await fleet.must('POST', path, { ...appParent, metadata: { name: 'lost' }, spec })
  const owner = { ...appParent, name: 'lost', uid: app.metadata.uid }
  const labels = { app: 'primehub-app', 'primehub.io/phapplication': 'lost' }
  const { metadata } = await plant('Service', other, 'app-lost', { ownerReferences: [owner], labels })
  await eventually('it is told', async () => {
    const { status } = await fleet.must('GET', `${path}/lost`)
    return (status as { message?: string } | undefined)?.message === 'WrongGroup: no group has apps in this namespace'
  })
  await fleet.make('later')
  await fleet.phase('later', 'Ready')
  expect((await fleet.must('GET', pathOf('Service', other, 'app-lost'))).metadata.uid).toBe(metadata.uid)
  expect((await fleet.kube.request('GET', pathOf('Deployment', other, 'app-lost'))).status).toBe(404)
  expect((await fleet.routes()).routes.has('lost')).toBe(false)
})

test('of two apps with one id the older has it, and the other says so until that is gone', async () => {
  const { metadata } = await fleet.make('twice', {}, 'a')
  await fleet.phase('twice', 'Ready', 'a')
  // The server counts in seconds.
  await new Promise(resolve => setTimeout(resolve, 1_100))
  const younger = await fleet.make('twice', {}, 'b')
  const { message } = await fleet.phase('twice', 'Error', 'b')
  expect(message).toBe('Conflict: an older app in another namespace has this name')
  expect(await fleet.child('Deployment', 'app-twice', 'b')).toBeNull()
  expect((await fleet.routes()).routes.get('twice')?.uid).toBe(metadata.uid)
  await fleet.drop('twice', 'a')
  await fleet.phase('twice', 'Ready', 'b')
  await eventually('its route', async () => (await fleet.routes()).routes.get('twice')?.uid === younger.metadata.uid)
})

test('an app that is made again has objects of its own', async () => {
  await fleet.make('again')
  await fleet.phase('again', 'Ready')
  const before = await fleet.child('Deployment', 'app-again')
  await fleet.drop('again', 'a')
  const { metadata } = await fleet.make('again')
  await fleet.phase('again', 'Ready', 'a', 60_000)
  const after = await fleet.child('Deployment', 'app-again')
  expect(after.metadata.uid).not.toBe(before.metadata.uid)
  expect(after.metadata.ownerReferences[0].uid).toBe(metadata.uid)
  expect((await fleet.routes()).routes.get('again')?.uid).toBe(metadata.uid)
})
