/** What a release finds of apps that an older one made: it writes nothing, and no route changes. */
import { describe, expect, test } from 'vitest'
import { appPasts, readAppsPast } from '../../test/kit/apps/past/files.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import type { AppRoute } from '../base/app-route.ts'
import { apps } from '../config/apps.ts'
import { plan } from '../reconcile/plan.ts'
import { FakeApi } from '../reconcile/testing/api.ts'
import { appKind } from './kind.ts'
import { type AppSights, type AppWatch, appWatches, projectionOf } from './watches.ts'
import { appParent } from './words.ts'
import { appWorld } from './world.ts'

describe.for(appPasts())('the past %s', name => {
  const past = readAppsPast(name)
  const clock = new ManualClock({ nowMs: past.recordedAtMs })
  const api = new FakeApi()
  const sights = Object.fromEntries(
    (Object.keys(appWatches) as AppWatch[]).map(watch => {
      const { apiVersion, kind } = appWatches[watch]
      return [watch, api.sightOf(apiVersion, kind, projectionOf(watch), clock)]
    }),
  ) as unknown as AppSights
  for (const object of past.objects) api.put(object)
  const world = appWorld(sights, {
    settings: { apps: apps.parse(past.apps), ownNamespace: past.installation, installation: past.installation },
    ...{ unguarded: () => undefined, longUnguarded: () => undefined, isTenant: () => false },
    usersOf: async () => ({ deployments: past.objects.filter(({ kind }) => kind === 'Deployment'), pods: [] }),
  })
  const recorded = past.redis[`{${past.installation}}:app-routes`]
  const names = past.objects.flatMap(({ kind, metadata }) => (kind === appParent.kind ? [metadata.name] : []))

  test('has apps of every phase that stays', () => {
    const phases = past.objects.map(
      ({ kind, status }) => kind === appParent.kind && (status as { phase: string }).phase,
    )
    expect(phases).toEqual(expect.arrayContaining(['Ready', 'Stopped', 'Error']))
  })

  test.each(names)('needs no write for the app %s, which keeps its route', async app => {
    const routes: AppRoute[] = []
    const put = async (route: AppRoute) => void routes.push(route)
    const kind = appKind(world, { put, withdraw: async () => {}, gone: async () => {} })
    const key = `${past.objects.find(({ metadata }) => metadata.name === app)!.metadata.namespace}/${app}`
    const verdict = kind.desired(key, kind.world(), past.recordedAtMs)
    if (verdict.do === 'leave') throw new Error(`${key} is left`)
    expect(plan(verdict, kind)).toEqual([])
    for (const effect of verdict.effects ?? []) await effect.apply(new AbortController().signal)
    const value = recorded?.value as Readonly<Record<string, string>>
    expect(routes).toEqual([JSON.parse(value[app]!)])
  })
})
