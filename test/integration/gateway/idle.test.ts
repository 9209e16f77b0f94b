/**
 * Idle apps behind gateways that are processes: the engine looks at what they tell, and they obey what it decides. The cluster is the
 * test's: a stop is a patch that it takes.
 */
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import type { Failpoint } from '../../../src/base/failpoint.ts'
import { idle as schema } from '../../../src/config/idle.ts'
import { AppOwner, type SeenApp } from '../../../src/idle/apps/owner.ts'
import { seenApp, seenPod } from '../../../src/idle/apps/testing/owner-world.ts'
import { IdleEngine } from '../../../src/idle/engine.ts'
import { ActivityStore } from '../../../src/store/activity.ts'
import { DueStore } from '../../../src/store/due.ts'
import { createIdleMetrics } from '../../../src/telemetry/idle-metrics.ts'
import { moveBack } from '../../kit/apps/idle-apps.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { GatewaySite, statusOf } from '../../kit/gateway/site.ts'
import { answering } from '../../kit/gateway/wires.ts'
import { silentLog } from '../../kit/log.ts'

const rule = { name: 'short', match: { kinds: ['app'] }, sources: ['traffic'], idleTimeoutSeconds: 60, warnSeconds: 0 }
const config = {
  enabled: true,
  checkPeriodSeconds: 0.1,
  restPeriodSeconds: 0.1,
  rules: [rule],
  annotations: { app: 'off' },
}
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

let site: GatewaySite
let cookie: string
beforeAll(async () => {
  site = await GatewaySite.start()
  cookie = await site.login('ada')
})
afterAll(() => site?.stop())

/** Apps with a route and an upstream, of which the engine sees those that it is shown. */
function startEngine(failpoint: Failpoint = () => {}) {
  const apps = new Map<string, SeenApp>()
  const [store, due] = [new ActivityStore(site.connection, site.keys), new DueStore(site.connection, site.keys)]
  const owner = new AppOwner({
    ...{ store, failpoint, stampPolicy: 'off', prefixOf: id => `/console/apps/${id}/`, onStopped: () => {} },
    sight: { get: id => apps.get(id), ids: () => apps.keys(), ofPod: () => undefined, silenceMs: () => 0 },
    kube: {
      patch: async ({ name }) => {
        apps.set(name, { ...apps.get(name)!, stop: true })
        return { metadata: { name } } as KubeObject
      },
    },
  })
  const metrics = createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined })
  const engine = new IdleEngine({
    ...{
      idle: schema.parse(config),
      owners: [owner],
      due,
      activity: store,
      metrics,
      clock: systemClock,
      log: silentLog,
    },
    failpoint,
  })
  engine.start()
  onTestFinished(() => engine.stop())
  return {
    isStopped: (id: string) => apps.get(id)!.stop,
    /** Its time is over, and it is looked at from now on. */
    show: async (...ids: readonly string[]) => {
      for (const id of ids) {
        apps.set(
          id,
          seenApp({ ref: { ...seenApp().ref, name: id }, pod: seenPod({ uid: `pod-of-${id}` }), stamps: {} }),
        )
      }
      await due.enrol('app', ids, 0)
      for (const id of ids) await eventually(`a check of ${id}`, async () => (await stateOf(id)) !== null)
      for (const id of ids) await pass(id)
    },
  }
}

const known = (id: string) => site.keys.activity('app', id)
const stateOf = (id: string) => site.admin.hget(known(id), 'state')
const isKnownByTraffic = async (id: string) => (await site.admin.hget(known(id), 'source')) === 'traffic'

async function pass(id: string, ms = 120_000): Promise<void> {
  await moveBack(site.admin, site.keys.activityFloor, ['floor'], ms)
  await moveBack(site.admin, known(id), ['since', 'last', 'checked', 'touched'], ms)
}

const open = (id: string) => site.ask(`GET /console/apps/${id}/ `, [`Cookie: ${cookie}`])

test.each([
  ['idle.looked', 200, 1],
  ['idle.stopping', 200, 1],
  ['idle.requested', 503, 0],
])('a visitor who comes back at %s gets %i, and the app %i requests', async (point, status, requests) => {
  const id = point.replace('.', '-')
  const app = await site.app(id, answering(answer))
  const [held, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isArmed = false
  const engine = startEngine(async (at, name) => {
    if (!isArmed || at !== point || name !== `app:${id}`) return
    isArmed = false
    held.resolve()
    await going.promise
  })
  await engine.show(id)
  isArmed = true
  await held.promise
  const got = statusOf(await open(id))
  going.resolve()
  expect([got, app.lines.length]).toEqual([status, requests])
  if (status === 503) await eventually('the stop', async () => engine.isStopped(id))
  else {
    await eventually('a look that knows', () => isKnownByTraffic(id))
    expect(engine.isStopped(id)).toBe(false)
  }
})

test('no app is stopped while a gateway is cut off from Redis, and what was used meanwhile is kept', async () => {
  const ids = ['cut-used', 'cut-idle']
  for (const id of ids) await site.app(id, answering(answer))
  expect(statusOf(await open('cut-used'))).toBe(200)
  const engine = startEngine()
  await site.admin.call('ACL', 'SETUSER', 'gateway', 'off')
  await site.admin.call('CLIENT', 'KILL', 'USER', 'gateway')
  // By a verdict of a moment ago.
  expect(statusOf(await open('cut-used'))).toBe(200)
  const flushed = site.keys.activityFlushed('app')
  await moveBack(site.admin, flushed, await site.admin.hkeys(flushed), 20_000)
  await engine.show(...ids)
  for (const id of ids) await eventually(`${id} is unknown`, async () => (await stateOf(id)) === 'unknown')
  for (const id of ids) expect(engine.isStopped(id)).toBe(false)
  await site.admin.call('ACL', 'SETUSER', 'gateway', 'on')
  await eventually('the stop of the idle one', async () => engine.isStopped('cut-idle'), 30_000)
  await eventually('a look that knows', () => isKnownByTraffic('cut-used'))
  expect(engine.isStopped('cut-used')).toBe(false)
})
