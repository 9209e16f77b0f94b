import { expect, it } from 'vitest'
import { appFact, appPod, appSettings, appWith } from '../../../test/kit/apps/facts.ts'
import type { AppPod } from '../../apps/pods.ts'
import type { AppWorld } from '../../apps/world.ts'
import { stamps } from '../../kube/labels.ts'
import { factOf } from '../../reconcile/facts.ts'
import type { Fact } from '../../reconcile/types.ts'
import { IdleSight } from './idle-sight.ts'

const id = 'mlflow-xyzab'
const labels = { 'primehub.io/phapplication': id }

/** As much of a world as the sight reads. */
function sightOf(apps: readonly Fact[], pods: readonly AppPod[] = [], isTenant = false): IdleSight {
  const shown = factOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'hub', labels } }, [
    ['metadata'],
  ])
  const world = {
    ...{ settings: appSettings(), isTenant: () => isTenant, podsOf: () => pods },
    named: (name: string) => apps.filter(({ ref }) => ref.name === name),
    sights: {
      applications: { values: () => apps },
      pods: { get: (key: string) => (key === 'hub/p' ? shown : undefined) },
    },
  } as unknown as AppWorld
  return new IdleSight({ world, ages: () => ({ applications: 7, pods: 9 }) })
}

const running = (name: string, createdAt: string, ready = true, deleting = false) =>
  appPod({
    ...{ name, createdAt, deleting },
    status: {
      ...{ phase: 'Running', podIP: '10.0.0.7', startTime: createdAt },
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  })
const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z']

it('IdleSight shows an app with what rules match by, its stamps and where it is asked', () => {
  const app = appWith({ instanceType: '' }, 'hub', { [stamps.lastActivity]: 'a', [stamps.keepUntil]: 'k' })
  expect(sightOf([app], [running('p', early)], true).get(id)).toMatchObject({
    ...{ uid: 'app-uid', resourceVersion: '7', stop: false, deleting: false, group: 'phusers', tenant: 'hub' },
    ...{ instanceType: 'small', port: 5000, stamps: { lastActivity: 'a', keepUntil: 'k' } },
    pod: { uid: 'p', running: true, ready: true, ip: '10.0.0.7', startedMs: Date.parse(early) },
  })
  expect(sightOf([app]).get(id)).toMatchObject({ tenant: undefined, pod: undefined })
})

it('IdleSight finds the number of a port that the container names', () => {
  const ports = [{ name: 'http', port: 5000, targetPort: 'http' }]
  expect(sightOf([appWith({ svcTemplate: { spec: { ports } } })]).get(id)?.port).toBe(5000)
  expect(
    sightOf([appWith({ svcTemplate: { spec: { ports: [{ port: 5000, targetPort: 'x' }] } } })]).get(id)?.port,
  ).toBeUndefined()
  expect(sightOf([appWith({ httpPort: undefined })]).get(id)?.port).toBeUndefined()
})

it('IdleSight shows the pod that serves while another starts or ends', () => {
  const podOf = (...pods: AppPod[]) => sightOf([appFact()], pods).get(id)?.pod?.uid
  expect(podOf(running('old', early), running('new', late, false))).toBe('old')
  expect(podOf(running('old', early, true, true), running('new', late, false))).toBe('new')
  expect(podOf(running('old', early), running('new', late))).toBe('new')
})

it('IdleSight shows no app that gets nothing, though it has the name', () => {
  const refused = appWith({ groupName: 'others' })
  expect(sightOf([refused]).get(id)).toBeUndefined()
  expect(sightOf([refused, appFact()]).get(id)?.uid).toBe('app-uid')
})

it('IdleSight names all apps, the app of a pod, and the longer silence of its watches', () => {
  const sight = sightOf([appFact()])
  expect([...sight.ids()]).toEqual([id])
  expect([sight.ofPod('hub', 'p'), sight.ofPod('hub', 'q')]).toEqual([id, undefined])
  expect(sight.silenceMs()).toBe(9)
})
