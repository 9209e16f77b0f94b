import { expect, it } from 'vitest'
import { appFact, appSettings, appWith } from '../../test/kit/apps/facts.ts'
import { seedApp } from '../../test/kit/apps/seed.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import { silentLog } from '../../test/kit/log.ts'
import { generationOf } from '../apps/spec.ts'
import type { AppWorld } from '../apps/world.ts'
import type { KubeObject } from '../base/domain.ts'
import { KubeError } from '../kube/client.ts'
import type { Fact } from '../reconcile/types.ts'
import { Starts, type StartsOptions } from './starts.ts'

const stopped = (name: string): Fact => {
  const fact = appWith({ stop: true })
  return { ...fact, uid: `uid-${name}`, ref: { ...fact.ref, name } }
}

/** An app as the API server shows it, of the same UID. */
const stoppedAt = (name: string, generation: number, uid = `uid-${name}`): KubeObject => {
  const app = seedApp()
  const metadata = { ...app.metadata, namespace: 'hub', name, uid, generation, resourceVersion: '8' }
  return { ...app, metadata, spec: { ...(app.spec as object), stop: true } }
}

/**
 * @param statusOf the answer to the patch of an app; 0: it is written
 * @param behind what the API server has, where the watch does not show it yet
 */
async function outcomes(names: readonly string[], statusOf: (name: string) => number, behind?: KubeObject | null) {
  const apps = names.map(stopped)
  let reads = 0
  const waiting = apps.map(app => ({
    id: app.ref.name,
    uid: app.uid,
    generation: generationOf(app) + (behind === undefined ? 0 : 1),
    user: 'ada',
    atMs: 0,
  }))
  const ended: unknown[] = []
  const clock = new ManualClock()
  let patches = 0
  const world = {
    named: (id: string) => apps.filter(({ ref }) => ref.name === id),
    settings: appSettings(),
    isTenant: () => false,
    sights: {
      applications: {
        lay: (object: KubeObject) => {
          if (object === behind) apps.splice(0, 1, appFact(object))
        },
      },
    },
  } as unknown as AppWorld
  const kube = {
    get: async () => {
      reads += 1
      return behind
    },
    patch: async ({ name }: { name: string }) => {
      patches += 1
      const status = statusOf(name)
      if (status > 0) throw new KubeError(status, 'no', '')
      return { apiVersion: 'v1', kind: 'x', metadata: { name } }
    },
  } as unknown as StartsOptions['kube']
  const starts = new Starts({
    ...{ world, kube, clock, log: silentLog, token: 'one', isMember: () => true },
    store: {
      take: async () => waiting.slice(),
      end: async ({ id }) =>
        void waiting.splice(
          waiting.findIndex(each => each.id === id),
          1,
        ),
    },
    onEnded: ({ id }, _, outcome) => void ended.push([id, outcome]),
  })
  starts.start()
  for (let i = 0; i < 30; i++) {
    clock.advance(100)
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  const stop = starts.stop()
  clock.advance(1)
  await stop
  return { ended, patches: () => patches, reads: () => reads }
}

it('Starts starts the others when one app cannot be written', async () => {
  const { ended } = await outcomes(['broken', 'good'], name => (name === 'broken' ? 500 : 0))
  expect(ended).toEqual([['good', 'started']])
})

it('Starts gives up an app that somebody writes all the time, after six tries', async () => {
  const { ended, patches } = await outcomes(['flipped', 'good'], name => (name === 'flipped' ? 409 : 0))
  expect(ended).toEqual([
    ['good', 'started'],
    ['flipped', 'refused'],
  ])
  expect(patches()).toBe(7)
})

it('Starts refuses an app that the server does not let it write', async () => {
  expect((await outcomes(['forbidden'], () => 403)).ended).toEqual([['forbidden', 'refused']])
})

it('Starts reads an app once when the watch is behind what the user saw', async () => {
  const { ended, reads } = await outcomes(['late'], () => 0, stoppedAt('late', 4))
  expect([ended, reads()]).toEqual([[['late', 'started']], 1])
})

it.each([
  ['the app is gone', null],
  ['another app has its name', stoppedAt('late', 4, 'another')],
  ['nobody has made the generation that is asked for', stoppedAt('late', 3)],
])('Starts starts nothing when %s', async (_, behind) => {
  const { ended, patches, reads } = await outcomes(['late'], () => 0, behind)
  expect([ended, patches(), reads()]).toEqual([[['late', 'stale']], 0, 1])
})

it('Starts reads nothing when the watch shows what the user saw', async () => {
  expect((await outcomes(['shown'], () => 0)).reads()).toBe(0)
})
