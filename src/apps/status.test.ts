import { describe, expect, it } from 'vitest'
import { appFact, appSettings, appWith, checkedFact } from '../../test/kit/apps/facts.ts'
import { asObjects } from '../base/json.ts'
import { factOf } from '../reconcile/facts.ts'
import type { Fact, Result } from '../reconcile/types.ts'
import { planOf } from './plan.ts'
import { appRoute, type RouteFacts } from './route.ts'
import { appStatus, type StatusFacts } from './status.ts'

const result: Result = {
  ...{ settled: true, made: true, conflicts: [], awaited: [], failure: undefined, due: [] },
  ...{ onlyRevocations: undefined, contended: false },
}
const service = factOf(
  { apiVersion: 'v1', kind: 'Service', metadata: { name: 'app-mlflow-xyzab' }, spec: { clusterIP: '10.0.0.7' } },
  [['spec']],
)
const deployment = { isCurrent: true, replicas: 1, ready: 1, updated: 1, failure: undefined }

function statusOf(app: Fact, more: Partial<StatusFacts> = {}, nowMs = 0) {
  const verdict = { phase: 'Ready', message: '' } as const
  const addresses = { publicUrl: 'https://platform.example.org/' }
  return appStatus(
    { app, checked: checkedFact(app), pruned: [], deployment, verdict, result, addresses, ...more },
    nowMs,
  ).status
}
const told = (status: ReturnType<typeof statusOf>, type: string) => {
  const found = asObjects(status.conditions).find(each => each.type === type)!
  return [found.status, found.reason, found.message]
}

describe('appStatus', () => {
  it('tells phase, name, address and conditions of an app that is ready', () => {
    const status = statusOf(appFact())
    expect(status).toMatchObject({
      ...{ observedGeneration: 3, phase: 'Ready', message: '', serviceName: 'app-mlflow-xyzab' },
      url: 'https://platform.example.org/console/apps/mlflow-xyzab/',
    })
    expect(asObjects(status.conditions).map(({ type, status }) => `${type} ${status}`)).toEqual([
      ...['Reconciled True', 'Available True', 'Pruned False', 'Conflict False', 'QuotaExceeded False'],
      'RoutesPending False',
    ])
  })

  it('tells no address of an app without a web interface', () => {
    expect(statusOf(appWith({ httpPort: undefined })).url).toBeNull()
    expect(statusOf(appFact(), { addresses: {} }).url).toBeNull()
  })

  it('tells the host of its own that an app has below the domain of apps, at the port of the platform', () => {
    const urlOf = (publicUrl: string) =>
      statusOf(appFact(), { addresses: { publicUrl, appDomain: 'apps.example.net' } }).url
    expect(urlOf('https://platform.example.org')).toBe(
      'https://mlflow-xyzab.apps.example.net/console/apps/mlflow-xyzab/',
    )
    expect(urlOf('http://localhost:8080/')).toBe('http://mlflow-xyzab.apps.example.net:8080/console/apps/mlflow-xyzab/')
  })

  it.each<[string, Partial<StatusFacts>, string, unknown[]]>([
    ['what was left out', { pruned: ['a', 'b'] }, 'Pruned', ['True', 'NotAllowed', 'left out: a, b']],
    ['a refusal', { result: { ...result, settled: false, failure: 'no' } }, 'Reconciled', ['False', 'Refused', 'no']],
    [
      'a stranger’s object',
      { result: { ...result, settled: false, conflicts: [service] } },
      'Conflict',
      ['True', 'Conflict', 'the Service app-mlflow-xyzab exists, and is not that of this app'],
    ],
    [
      'a silent Redis',
      { result: { ...result, due: ['route'] } },
      'RoutesPending',
      ['True', 'RedisSilent', 'waits for Redis: route'],
    ],
    [
      'a quota',
      { deployment: { ...deployment, failure: { reason: 'FailedCreate', message: 'exceeded quota: q' } } },
      'QuotaExceeded',
      ['True', 'ExceededQuota', 'exceeded quota: q'],
    ],
    [
      'an app that is not there',
      { deployment: undefined, verdict: { phase: 'Error', message: 'Failed: x' } },
      'Available',
      ['False', 'Error', 'Failed: x'],
    ],
  ])('tells %s', (_, more, type, condition) => {
    expect(told(statusOf(appFact(), more), type)).toEqual(condition)
  })

  it('keeps the time of a condition that has not turned', () => {
    const before = statusOf(appFact(), {}, 0)
    const app = { ...appFact(), owned: { ...appFact().owned, status: before } }
    expect(statusOf(app, {}, 60_000)).toEqual(before)
  })
})

describe('appRoute', () => {
  const routeOf = (app: Fact, more: Partial<RouteFacts> = {}) =>
    appRoute({ app, checked: checkedFact(app), service, phase: 'Ready', message: '', ...more })

  it('leads to the Service of the app, for members', () => {
    expect(routeOf(appFact())).toEqual({
      ...{ id: 'mlflow-xyzab', uid: 'app-uid', createdMs: Date.parse('2026-01-01T00:00:00Z'), generation: 3 },
      ...{ namespace: 'hub', displayName: 'My MLflow', group: 'phusers', audience: { kind: 'members' } },
      ...{ phase: 'Ready', message: '', address: { ip: '10.0.0.7', port: 5000 } },
      ...{ host: 'app-mlflow-xyzab.hub:5000', rewrite: false, passHost: false, passAuthorization: false },
    })
  })

  it.each([
    ['group', 'members'],
    ['primehub', 'loggedIn'],
    ['public', 'public'],
    ['everybody', 'members'],
  ])('is of the scope %s for %s', (scope, kind) => {
    expect(routeOf(appWith({ scope }))?.audience).toEqual({ kind })
  })

  it('has no address without a Service, a web interface, or a right to run', () => {
    const wrong = appWith({ groupName: 'others', scope: 'public' })
    for (const route of [
      routeOf(appFact(), { service: undefined }),
      routeOf(appWith({ httpPort: undefined })),
      routeOf(wrong),
    ]) {
      expect(route).not.toHaveProperty('address')
    }
    expect(routeOf(wrong)?.audience).toEqual({ kind: 'members' })
  })

  it('is none of a younger app of the same name', () => {
    const app = appFact()
    expect(routeOf(app, { checked: checkedFact(app, appSettings(), true) })).toBeUndefined()
  })
})

describe('planOf', () => {
  const standing = [{ ...service, ref: { ...service.ref, apiVersion: 'apps/v1', kind: 'Deployment' } }]

  it('leaves the Deployment alone when its instance type is gone from the configuration', () => {
    const app = appWith({ instanceType: 'gone' })
    const { spec, ...checked } = checkedFact(app)
    const plan = planOf(app, { ...checked, spec: spec! }, appSettings(), standing)
    expect(plan.objects.map(({ object }) => object.kind)).toEqual(['NetworkPolicy', 'NetworkPolicy', 'Service'])
    expect(plan.standing).toEqual([])
  })
})
