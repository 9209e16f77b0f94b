/** Apps on a real API server, with its own controllers and nodes of KWOK: their phases, objects and routes over a life. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { eventually } from '../../kit/cluster/world.ts'

let fleet: AppFleet
beforeAll(async () => {
  fleet = await AppFleet.start({ groups: ['a', 'b', 'c'], group: { b: { quota: { pods: 1 } } } })
})
afterAll(() => fleet?.stop())

const routeOf = async (id: string) => (await fleet.routes()).routes.get(id)

const own = (id: string) =>
  [
    ['Deployment', `app-${id}`],
    ['Service', `app-${id}`],
    ['NetworkPolicy', `app-${id}-group`],
    ['NetworkPolicy', `app-${id}-proxy`],
  ] as const

test('an app runs, changes, stops and starts, with one generation of its Deployment for each change', async () => {
  const { metadata } = await fleet.make('life')
  const status = await fleet.phase('life', 'Ready')
  expect(status).toMatchObject({ serviceName: 'app-life', url: 'https://platform.example.org/console/apps/life/' })
  const owner = { apiVersion: 'primehub.io/v1alpha1', kind: 'PhApplication', name: 'life', uid: metadata.uid }
  for (const [kind, name] of own('life')) {
    expect((await fleet.child(kind, name)).metadata.ownerReferences).toMatchObject([owner])
  }
  const { clusterIP } = (await fleet.child('Service', 'app-life')).spec
  await eventually('its route', async () => (await routeOf('life'))?.phase === 'Ready')
  const host = `app-life.${fleet.of('a')}:8080`
  const address = { ip: clusterIP, port: 8080 }
  expect(await routeOf('life')).toMatchObject({ uid: metadata.uid, group: fleet.of('a'), address, host })
  const generation = async () => (await fleet.child('Deployment', 'app-life')).metadata.generation
  await fleet.edit('life', { spec: { scope: 'public' } })
  await eventually('the new audience', async () => (await routeOf('life'))?.audience.kind === 'public')
  expect(await generation()).toBe(1)
  await fleet.edit('life', { spec: { podTemplate: { spec: { containers: [{ name: 'main', image: 'app:2' }] } } } })
  await fleet.phase('life', 'Ready')
  expect(await generation()).toBe(2)
  await fleet.edit('life', { spec: { stop: true } })
  await fleet.phase('life', 'Stopped')
  await eventually('the route says so', async () => (await routeOf('life'))?.phase === 'Stopped')
  await fleet.edit('life', { spec: { stop: false } })
  await fleet.phase('life', 'Ready')
  expect(await generation()).toBe(4)
})

test('the table of routes is complete once the watches are read, and again when Redis was emptied', async () => {
  await fleet.make('flushed')
  await fleet.phase('flushed', 'Ready')
  await eventually('the mark', async () => (await fleet.routes()).complete)
  await fleet.redisClient.flushall()
  await eventually('the mark and the route', async () => {
    const { complete, routes } = await fleet.routes()
    return complete && routes.get('flushed')?.phase === 'Ready'
  })
})

test('an app says why it cannot run, and runs when that has passed', async () => {
  await fleet.make('typeless', { instanceType: 'huge' })
  expect((await fleet.phase('typeless', 'Error')).message).toContain('InstanceType: there is no instance type "huge"')
  await fleet.edit('typeless', { spec: { instanceType: 'small' } })
  await fleet.phase('typeless', 'Ready')
})

test('an app names the label that its namespace lacks, runs when it is there, and can be stopped without it', async () => {
  const mark = (value: string | null) =>
    fleet.must('PATCH', `/api/v1/namespaces/${fleet.of('c')}`, { metadata: { labels: { 'skylab/apps': value } } })
  await mark(null)
  await fleet.make('unmarked', {}, 'c')
  const { message, conditions } = await fleet.phase('unmarked', 'Error', 'c')
  expect(message).toContain('gives it the label skylab/apps=true')
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Reconciled', reason: 'Refused' }))
  await mark('true')
  await fleet.phase('unmarked', 'Ready', 'c', 60_000)
  await mark(null)
  await fleet.edit('unmarked', { spec: { stop: true } }, 'c')
  await fleet.phase('unmarked', 'Stopped', 'c')
})

test('an app without a web interface keeps its policy for the gateway, which lets nobody in', async () => {
  await fleet.make('closed')
  await fleet.phase('closed', 'Ready')
  await fleet.edit('closed', { spec: { httpPort: null } })
  await eventually('the gateway is shut out', async () => {
    const { spec } = await fleet.child('NetworkPolicy', 'app-closed-proxy')
    return spec.ingress === undefined
  })
  await fleet.phase('closed', 'Ready')
  expect(fleet.writes().filter(({ verb }) => verb === 'delete')).toEqual([])
})

test('what somebody changes by hand in an object is as declared again', async () => {
  await fleet.make('edited')
  await fleet.phase('edited', 'Ready')
  const at = `/apis/apps/v1/namespaces/${fleet.of('a')}/deployments/app-edited`
  await fleet.must('PATCH', at, { spec: { replicas: 3, template: { spec: { hostNetwork: true } } } })
  await eventually('it is corrected', async () => {
    const { spec } = await fleet.child('Deployment', 'app-edited')
    return spec.replicas === 1 && spec.template.spec.hostNetwork === undefined
  })
  const service = `/api/v1/namespaces/${fleet.of('a')}/services/app-edited`
  await fleet.must('PATCH', service, { spec: { selector: { app: 'theirs' } } })
  await eventually('it is corrected', async () => {
    const { spec } = await fleet.child('Service', 'app-edited')
    return spec.selector.app === 'primehub-app'
  })
  await fleet.must('DELETE', service)
  await eventually('it is made again', async () => (await fleet.child('Service', 'app-edited')) !== null)
})

test('an annotation that stops an app becomes a stop of its spec', async () => {
  await fleet.make('stamped')
  await fleet.phase('stamped', 'Ready')
  await fleet.edit('stamped', { metadata: { annotations: { 'kubeflow-resource-stopped': '2026-01-01T00:00:00Z' } } })
  await fleet.phase('stamped', 'Stopped')
  const { spec, metadata } = await fleet.read('stamped')
  expect(spec.stop).toBe(true)
  expect(metadata.annotations).toBeUndefined()
})

test('a stopped app starts when a member asks for it, once and only as he saw it', async () => {
  const { metadata } = await fleet.make('asked', { stop: true })
  await fleet.phase('asked', 'Stopped')
  const intent = { id: 'asked', uid: metadata.uid!, user: 'ada' }
  await fleet.ask({ ...intent, generation: 7 })
  await fleet.ask({ ...intent, uid: 'another', generation: 1 })
  await eventually('stale ones end', async () => (await fleet.redisClient.hlen(fleet.keys.apps.intents)) === 0)
  expect((await fleet.read('asked')).spec.stop).toBe(true)
  await fleet.ask({ ...intent, generation: 1 })
  await fleet.phase('asked', 'Ready')
})

test('an app beyond the quota of its group says so, and runs when there is room', async () => {
  await fleet.make('first', {}, 'b')
  await fleet.phase('first', 'Ready', 'b')
  await fleet.make('second', {}, 'b')
  const { message, conditions } = await fleet.phase('second', 'Error', 'b')
  expect(message).toContain('exceeded quota: skylab-apps')
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'QuotaExceeded', status: 'True' }))
  await fleet.drop('first', 'b')
  await fleet.phase('second', 'Ready', 'b')
})

test('the quota of a group is as the configuration has it, whatever somebody writes, and goes where there is none', async () => {
  const path = (group: string) => `/api/v1/namespaces/${fleet.of(group)}/resourcequotas`
  const { metadata } = await fleet.child('ResourceQuota', 'skylab-apps', 'b')
  const { ownerReferences, labels } = metadata
  expect(ownerReferences).toEqual([expect.objectContaining({ kind: 'Namespace', name: fleet.of('b') })])
  const edit = (patch: object) => fleet.must('PATCH', `${path('b')}/skylab-apps`, patch)
  const isCorrected = async () => {
    const now = await fleet.child('ResourceQuota', 'skylab-apps', 'b')
    return JSON.stringify([now.spec.hard, now.metadata.labels]) === JSON.stringify([{ pods: '1' }, labels])
  }
  await edit({ spec: { hard: { pods: '7', services: '0' } } })
  await eventually('it is corrected', isCorrected)
  // No watch shows it without the label.
  await edit({ metadata: { labels: { app: null } } })
  await eventually('it is known again', isCorrected)
  const { uid } = (await fleet.must('GET', `/api/v1/namespaces/${fleet.of('c')}`)).metadata
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: fleet.of('c'), uid }
  const left = { metadata: { name: 'skylab-apps', labels, ownerReferences: [owner] }, spec: { hard: { pods: '0' } } }
  await fleet.must('POST', path('c'), left)
  await eventually('it is gone', async () => (await fleet.child('ResourceQuota', 'skylab-apps', 'c')) === null)
})

test('replicas write nothing while nothing changes', async () => {
  await fleet.make('quiet')
  await fleet.phase('quiet', 'Ready')
  let last = { count: -1, atMs: 0 }
  const isQuiet = async () => {
    const count = fleet.writes().length
    if (count !== last.count) last = { count, atMs: performance.now() }
    return performance.now() - last.atMs > quietMs
  }
  await eventually('no more writes', isQuiet)
})

// The last one: the garbage collector of a new cluster knows a new definition after half a minute.
test('an app goes with all that it was made of', async () => {
  await fleet.drop('life')
  for (const [kind, name] of own('life')) {
    await eventually(`the end of ${name}`, async () => (await fleet.child(kind, name)) === null, 60_000)
  }
  await eventually('the end of its route', async () => (await routeOf('life')) === undefined)
})

/** Longer than the interval of any look of the engine, but that of conflicts. */
const quietMs = 3_000
