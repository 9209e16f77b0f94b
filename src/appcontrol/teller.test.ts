/** Reports of replicas, on an API server in memory, with a Redis that keeps the reports. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import type { PodEventFacts } from '../kube/pods/facts.ts'
import type { AppTell } from '../store/app-events.ts'
import { silentLogger } from '../telemetry/log.ts'
import { AppTeller } from './teller.ts'
import { Site } from './testing/site.ts'

let site: Site
let clock: ManualClock
let tells: AppTell[]
let isSilent: boolean
let teller: AppTeller
beforeEach(() => {
  site = new Site()
  clock = new ManualClock()
  tells = []
  isSilent = false
  const tell = async (what: AppTell) => {
    if (isSilent) throw new RetryLater('Redis does not answer')
    tells.push(what)
  }
  teller = new AppTeller({ sights: site.sights, store: { tell }, clock, log: silentLogger() })
})
afterEach(() => teller.stop())

async function pass(ms = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    clock.advance(50)
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    await new Promise(resolve => setImmediate(resolve))
  }
}
const podEvent = (uid: string, more: Partial<PodEventFacts> = {}): PodEventFacts => ({
  ...{
    uid,
    namespace: 'physics',
    pod: 'app-a-1',
    podUid: 'p',
    warning: false,
    reason: 'Pulled',
    message: uid,
    count: 1,
  },
  ...more,
})
const phase = (name: string, message = '') => ({ phase: name, message })
function podsTell(): void {
  site.tellPods(site.sights.apps.get('physics/a')!)
}

test('AppTeller tells phases as the watch shows them, with the version of the app', async () => {
  site.declare('a', { uid: 'u' })
  teller.start()
  await pass()
  site.declare('a', { uid: 'u', status: phase('Starting') })
  await pass()
  site.declare('a', { uid: 'u', status: phase('Error', 'ImagePull: no such image') })
  await pass()
  expect(tells.map(({ uid, phase }) => [uid, phase])).toEqual([
    ['u', ''],
    ['u', '{"phase":"Starting","message":""}'],
    ['u', '{"phase":"Error","message":"ImagePull: no such image"}'],
  ])
  expect(Number(tells[2]!.version)).toBeGreaterThan(Number(tells[1]!.version))
})

test('AppTeller tells what the cluster says of pods once, as labs do', async () => {
  site.declare('a')
  teller.start()
  await pass()
  site.events.push(
    podEvent('e1'),
    podEvent('e2', { warning: true, reason: 'Failed' }),
    podEvent('e3', { reason: 'MissingClusterDNS' }),
  )
  podsTell()
  await pass()
  site.events.push(podEvent('e4'))
  podsTell()
  await pass()
  expect(tells.slice(1).map(({ events }) => events)).toEqual([
    [
      ['e1', 'info', 'e1'],
      ['e2', 'error', 'e2'],
    ],
    [['e4', 'info', 'e4']],
  ])
})

test('AppTeller calls Redis no more when nothing changes', async () => {
  site.declare('a', { uid: 'u', status: phase('Ready') })
  teller.start()
  await pass()
  site.declare('a', { uid: 'u', status: { ...phase('Ready'), conditions: [] } })
  podsTell()
  await pass(2_000)
  expect(tells).toHaveLength(1)
})

test('AppTeller tells afterwards what happened while Redis was silent', async () => {
  site.declare('a', { uid: 'u', status: phase('Starting') })
  teller.start()
  await pass()
  isSilent = true
  site.declare('a', { uid: 'u', status: phase('Ready') })
  site.events.push(podEvent('e1'))
  podsTell()
  await pass(1_000)
  isSilent = false
  await pass(20_000)
  expect(tells.at(-1)).toMatchObject({ phase: '{"phase":"Ready","message":""}', events: [['e1', 'info', 'e1']] })
})

test('AppTeller tells all again when Redis may have lost it, and all of an app that was made again', async () => {
  site.declare('a', { uid: 'u', status: phase('Ready') })
  site.events.push(podEvent('e1'))
  teller.start()
  await pass()
  teller.tellAll()
  await pass()
  expect(tells[1]).toEqual(tells[0])
  site.api.remove({ apiVersion: 'primehub.io/v1alpha1', kind: 'PhApplication', namespace: 'physics', name: 'a' })
  site.declare('a', { uid: 'v', status: phase('Ready') })
  await pass()
  expect(tells.at(-1)).toMatchObject({ uid: 'v', phase: tells[0]!.phase })
})
