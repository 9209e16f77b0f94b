import { beforeEach, expect, test } from 'vitest'
import { application } from '../../test/kit/apps/objects.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import type { AppRoute } from '../base/app-route.ts'
import type { KubeObject } from '../base/domain.ts'
import { apps } from '../config/apps.ts'
import { plan, refOfAct } from '../reconcile/plan.ts'
import { FakeApi } from '../reconcile/testing/api.ts'
import type { Act } from '../reconcile/types.ts'
import { appKind } from './kind.ts'
import { type AppSights, type AppWatch, appWatches, projectionOf } from './watches.ts'
import { appWorld } from './world.ts'

const groups = {
  ...{ physics: { namespace: 'physics' }, chemistry: { namespace: 'chemistry' } },
  ...{ red: { namespace: 'hub', quota: { pods: 1 } }, green: { namespace: 'hub' } },
}
const settings = { apps: apps.parse({ groups }), ownNamespace: 'skylab', installation: 'skylab' }
const nowMs = Date.parse('2026-01-02T00:00:00Z')

let api: FakeApi
let routes: string[]
let unguarded: string | undefined

beforeEach(() => {
  ;[api, routes, unguarded] = [new FakeApi(), [], undefined]
})

function replica(onPut: (route: AppRoute) => void = () => {}) {
  const clock = new ManualClock({ nowMs })
  const sights = Object.fromEntries(
    (Object.keys(appWatches) as AppWatch[]).map(watch => {
      const { apiVersion, kind } = appWatches[watch]
      return [watch, api.sightOf(apiVersion, kind, projectionOf(watch), clock)]
    }),
  ) as unknown as AppSights
  for (const object of [...api.objects.values()]) api.put(object)
  const world = appWorld(sights, {
    ...{ settings, unguarded: () => unguarded, longUnguarded: () => unguarded, isTenant: () => false },
    usersOf: async (namespace, group) => {
      const of = `${namespace} escaped-${group}`
      const all = (wanted: string) =>
        [...api.objects.values()].filter(
          ({ kind, metadata }) =>
            kind === wanted && `${metadata.namespace} ${metadata.labels?.['primehub.io/group']}` === of,
        )
      return { deployments: all('Deployment'), pods: all('Pod') }
    },
  })
  const note = (what: string) => async (route: AppRoute) => {
    routes.push(`${what} ${route.id} ${route.phase}`)
    onPut(route)
  }
  return appKind(world, { put: note('put'), withdraw: note('withdraw'), gone: async () => {} })
}

function planned(key: string): Act[] {
  const kind = replica()
  const verdict = kind.desired(key, kind.world(), nowMs)
  if (verdict.do === 'leave') throw new Error(`${key} is left`)
  for (const effect of verdict.effects ?? []) void effect.apply(new AbortController().signal)
  return plan(verdict, kind)
}

/** What is done for an app, as `act kind name`. */
const acts = (key: string): string[] =>
  planned(key).map(act => {
    const { kind, name } = refOfAct(act)
    return `${act.act} ${kind} ${name}`
  })
const patches = (key: string) => planned(key).flatMap(act => (act.act === 'change' ? act.patch : []))

const created = '2026-01-01T00:00:00Z'
function declare(namespace: string, spec: object = {}, metadata: object = {}): KubeObject {
  const app = application(namespace, 'blue')
  return api.put({
    ...app,
    metadata: { ...app.metadata, uid: `uid-${namespace}`, generation: 1, creationTimestamp: created, ...metadata },
    spec: { ...(app.spec as object), ...spec },
  } as KubeObject)
}

/** Makes what is wished for now. */
function carryOut(key: string): void {
  const kind = replica()
  const verdict = kind.desired(key, kind.world(), nowMs)
  if (verdict.do === 'leave') return
  for (const act of plan(verdict, kind)) if (act.act === 'create') api.put(act.object)
}

const objects = [
  'NetworkPolicy app-blue-group',
  'NetworkPolicy app-blue-proxy',
  'Service app-blue',
  'Deployment app-blue',
]
const all = (act: string) => objects.map(each => `${act} ${each}`)

test('an app of a group gets its objects, policies first, and a route', () => {
  declare('physics')
  expect(acts('physics/blue')).toEqual(all('create'))
  expect(routes).toEqual(['put blue Starting'])
  carryOut('physics/blue')
  expect(acts('physics/blue')).toEqual([])
})

test('a route has whole characters alone when a long name is cut in the middle of one', () => {
  declare('physics', { displayName: '😀'.repeat(200) })
  let found = ''
  const kind = replica(route => {
    found = route.displayName
  })
  const verdict = kind.desired('physics/blue', kind.world(), nowMs)
  if (verdict.do === 'hold') for (const { apply } of verdict.effects ?? []) void apply(new AbortController().signal)
  expect([found.isWellFormed(), found.length]).toEqual([true, 253])
})

test('an app in a namespace of no group gets nothing, and what stands there is left alone', () => {
  declare('physics')
  carryOut('physics/blue')
  for (const object of [...api.objects.values()]) {
    api.put({ ...object, metadata: { ...object.metadata, namespace: 'nowhere' } })
  }
  declare('nowhere', { stop: true, groupName: 'physics' }, { uid: 'uid-physics' })
  expect(acts('nowhere/blue')).toEqual([])
  expect(routes).toEqual(['withdraw blue Stopping'])
})

test('an app of another group than its namespace’s gets nothing', () => {
  declare('physics', { groupName: 'chemistry' })
  expect(acts('physics/blue')).toEqual([])
  expect(routes).toEqual(['withdraw blue Error'])
})

test('an app that is refused keeps what runs, until it is to stop', () => {
  declare('physics')
  carryOut('physics/blue')
  declare('physics', { groupName: 'chemistry' })
  expect(acts('physics/blue')).toEqual([])
  declare('physics', { groupName: 'chemistry', stop: true })
  expect(acts('physics/blue')).toEqual(['change Deployment app-blue'])
  expect(patches('physics/blue')).toEqual([{ spec: { replicas: 0 } }])
})

test('an app is only ever made, changed and awaited, since the account may delete nothing', () => {
  declare('physics')
  carryOut('physics/blue')
  const made = [...api.objects.values()].filter(({ kind }) => kind !== 'PhApplication')
  declare('physics', { httpPort: undefined, svcTemplate: { spec: { ports: [{ port: 81 }] } } })
  expect(acts('physics/blue')).toEqual(all('change').slice(0, 3))
  declare('physics', {}, { uid: 'uid-of-the-next' })
  expect(acts('physics/blue')).toEqual(all('await'))
  const deployment = made.find(({ kind }) => kind === 'Deployment')!
  declare('physics')
  api.put({ ...deployment, spec: { ...(deployment.spec as object), selector: { matchLabels: { app: 'x' } } } })
  expect(acts('physics/blue')).toEqual(['change Deployment app-blue'])
})

test('without the policy nothing is made or changed, but an app is stopped', () => {
  declare('physics')
  unguarded = 'no policy'
  expect(acts('physics/blue')).toEqual([])
  expect(routes).toEqual(['put blue Starting'])
  unguarded = undefined
  carryOut('physics/blue')
  unguarded = 'no policy'
  declare('physics', { stop: true })
  expect(acts('physics/blue')).toEqual(['change Deployment app-blue'])
})

test('of two apps with one id the older has it; nothing is made of the other', () => {
  declare('physics')
  declare('chemistry', {}, { creationTimestamp: '2026-01-01T00:00:01Z' })
  expect(acts('physics/blue')).toEqual(all('create'))
  expect(acts('chemistry/blue')).toEqual([])
  expect(routes).toEqual(['put blue Starting'])
})

test('an app in a namespace of no group takes its id from nobody', () => {
  declare('nowhere', {}, { creationTimestamp: '2025-01-01T00:00:00Z' })
  declare('physics')
  expect(acts('physics/blue')).toEqual(all('create'))
})

test.each([
  ['runs no more', {}, ['change Deployment app-blue']],
  ['leaves its objects where they are to stay', { finalizers: ['orphan'] }, []],
])('an app that is being deleted %s', (_, metadata, expected) => {
  declare('physics')
  carryOut('physics/blue')
  declare('physics', {}, { deletionTimestamp: created, ...metadata })
  expect(acts('physics/blue').sort()).toEqual(expected)
  expect(routes).toEqual([expect.stringContaining('withdraw blue')])
})

test('a stranger’s Service keeps an app from its Deployment, and its route from an address', () => {
  declare('physics')
  api.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'app-blue', namespace: 'physics' },
    spec: { clusterIP: '10.0.0.9' },
  })
  expect(acts('physics/blue')).toContain('conflict Service app-blue')
  expect(routes).toEqual(['put blue Error'])
})

/** The lock that an app needs, and why it gets nothing under it. */
async function lockOf(key: string): Promise<readonly [name: string, reason: string | undefined] | undefined> {
  const kind = replica()
  const verdict = kind.desired(key, kind.world(), nowMs)
  if (verdict.do === 'leave' || !verdict.lock) return undefined
  return [verdict.lock.name, await verdict.lock.check(new AbortController().signal)]
}

test('an app takes of what its group has under a lock where groups share a namespace, and no other one does', async () => {
  declare('physics')
  declare('hub', { groupName: 'red' })
  expect(await lockOf('physics/blue')).toBeUndefined()
  expect(await lockOf('hub/blue')).toEqual(['group:red', undefined])
  carryOut('hub/blue')
  expect(await lockOf('hub/blue')).toBeUndefined()
  const second = application('hub', 'second', { groupName: 'red' })
  api.put({ ...second, metadata: { ...second.metadata, uid: 'second', generation: 1, creationTimestamp: created } })
  const words = 'exceeded quota of the group red, requested: pods=1, used: pods=1, limited: pods=1'
  expect(await lockOf('hub/second')).toEqual(['group:red', words])
  declare('hub', { groupName: 'red', stop: true }, { generation: 2 })
  const stopped = [...api.objects.values()].find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'app-blue',
  )
  api.put({ ...stopped!, spec: { ...(stopped!.spec as object), replicas: 0 } } as KubeObject)
  expect(await lockOf('hub/second')).toEqual(['group:red', undefined])
  expect(await lockOf('hub/blue')).toBeUndefined()
})

test('an app that moves to a group of the same namespace takes of what that group has', async () => {
  declare('hub', { groupName: 'green' })
  carryOut('hub/blue')
  declare('hub', { groupName: 'red' }, { generation: 2 })
  expect(await lockOf('hub/blue')).toEqual(['group:red', undefined])
})

test('an app with a pod that ends takes of what its group has at each change', async () => {
  declare('hub', { groupName: 'red' })
  carryOut('hub/blue')
  expect(await lockOf('hub/blue')).toBeUndefined()
  const labels = { app: 'primehub-app', 'primehub.io/phapplication': 'blue', 'primehub.io/group': 'escaped-red' }
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'app-blue-1', uid: 'set' }]
  const metadata = { name: 'app-blue-1-x', namespace: 'hub', uid: 'pod', labels, ownerReferences }
  api.put({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, deletionTimestamp: created } },
    ...{ spec: { containers: [{ name: 'main' }] }, status: { phase: 'Running' } },
  } as KubeObject)
  const words = 'exceeded quota of the group red, requested: pods=1, used: pods=1, limited: pods=1'
  expect(await lockOf('hub/blue')).toEqual(['group:red', words])
})

test('an app of a group without a quota needs no lock', async () => {
  declare('hub', { groupName: 'green' })
  expect(await lockOf('hub/blue')).toBeUndefined()
})

test('the kind app watches no template', () => {
  expect(replica().sources.map(({ watch }) => watch.kind)).not.toContain('PhAppTemplate')
})
