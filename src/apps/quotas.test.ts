import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { KubeObject } from '../base/domain.ts'
import { apps } from '../config/apps.ts'
import { plan } from '../reconcile/plan.ts'
import { FakeApi } from '../reconcile/testing/api.ts'
import { type QuotaSights, quotaKind, quotaName, quotaWatches } from './quotas.ts'

const clock = new ManualClock()

/** What is done in a namespace, for an installation. */
function actsIn(api: FakeApi, groups: object, installation = 'skylab', unguarded?: string) {
  const watches = quotaWatches(installation)
  const isOurs = ({ metadata }: KubeObject) => metadata.labels?.['app.kubernetes.io/managed-by'] === installation
  const sights = {
    namespaces: api.sight('v1', 'Namespace', watches.namespaces.paths, clock),
    quotas: api.sight('v1', 'ResourceQuota', watches.quotas.paths, clock, isOurs),
  } satisfies QuotaSights
  for (const object of [...api.objects.values()]) api.put(object)
  const kind = quotaKind({ sights, installation, groups: apps.parse({ groups }).groups, unguarded: () => unguarded })
  const verdict = kind.desired('physics', kind.world(), 0)
  return verdict.do === 'leave' ? [] : plan(verdict, kind)
}

function cluster(): FakeApi {
  const api = new FakeApi()
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'physics' } })
  return api
}
const physics = { physics: { namespace: 'physics', quota: { pods: 3 } } }

async function made(installation: string): Promise<FakeApi> {
  const api = cluster()
  const [act] = actsIn(api, physics, installation)
  if (act?.act !== 'create') throw new Error('nothing is made')
  api.put(act.object)
  return api
}

test('the quota of a group is made once, and belongs to its Namespace', async () => {
  const api = cluster()
  const [act] = actsIn(api, physics)
  expect(act).toMatchObject({
    act: 'create',
    object: {
      metadata: { name: 'skylab-apps', ownerReferences: [{ kind: 'Namespace', name: 'physics' }] },
      spec: { hard: { pods: '3' } },
    },
  })
  expect(actsIn(await made('skylab'), physics)).toEqual([])
})

test('the quota changes with its group, and goes when it has none any more', async () => {
  const other = { physics: { namespace: 'physics', quota: { pods: 4 } } }
  expect(actsIn(await made('skylab'), other)).toMatchObject([
    { act: 'change', patch: { spec: { hard: { pods: '4' } } } },
  ])
  expect(actsIn(await made('skylab'), {})).toMatchObject([{ act: 'remove', why: 'unwanted' }])
})

test('the quota of another installation is left alone where its namespace is none of ours', async () => {
  expect(actsIn(await made('another'), {})).toEqual([])
})

test('no quota is lifted while the policy is missing', async () => {
  expect(actsIn(await made('skylab'), {}, 'skylab', 'no policy')).toEqual([])
})

test('a namespace of several groups has no quota, since it would bound all of them together', async () => {
  const shared = { ...physics, chemistry: { namespace: 'physics', quota: { pods: 9 } } }
  expect(actsIn(cluster(), shared)).toEqual([])
  expect(actsIn(await made('skylab'), shared)).toMatchObject([{ act: 'remove', why: 'unwanted' }])
})

test('the quota is urgent when another hand changes or removes it, and not when more of it is used', async () => {
  const watches = quotaWatches('skylab')
  const api = cluster()
  const sights = {
    namespaces: api.sight('v1', 'Namespace', watches.namespaces.paths, clock),
    quotas: api.sight('v1', 'ResourceQuota', watches.quotas.paths, clock),
  } satisfies QuotaSights
  const groups = apps.parse({ groups: physics }).groups
  const [, source] = quotaKind({ sights, installation: 'skylab', groups, unguarded: () => undefined }).sources
  const urgent: boolean[] = []
  source!.watch.on(change => urgent.push(...[...source!.keysOf(change)].map(poke => poke.urgent)))
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: quotaName, namespace: 'physics' } }
  const made = api.put({ ...quota, spec: { hard: { pods: '3' } } })
  const used = api.put({ ...made, status: { used: { pods: '1' } } })
  const raised = api.put({ ...used, spec: { hard: { pods: '30' } } })
  api.remove({ ...raised, name: quotaName, namespace: 'physics' })
  expect(urgent).toEqual([false, false, true, true])
})
