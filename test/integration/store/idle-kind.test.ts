/** A kind that the engine has never seen: it is registered, looked at through the traffic of gateways alone, and stopped. */
import { once } from 'node:events'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { idle as schema } from '../../../src/config/idle.ts'
import { IdleEngine } from '../../../src/idle/engine.ts'
import type { CheckEnd } from '../../../src/store/idle.ts'
import { createIdleMetrics } from '../../../src/telemetry/idle-metrics.ts'
import { ToyApps } from '../../kit/idle/toy-apps.ts'
import { silentLog } from '../../kit/log.ts'
import { useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const rule = { name: 'short', match: { kinds: ['app'] }, sources: ['traffic'], idleTimeoutSeconds: 1, warnSeconds: 0.4 }
const config = { enabled: true, checkPeriodSeconds: 0.1, restPeriodSeconds: 0.2, rules: [rule] }

async function start(...ids: string[]) {
  const ends = new EventTarget()
  const { activity, due } = idle()
  const apps = new ToyApps(idle())
  const engine = new IdleEngine({
    ...{ idle: schema.parse(config), owners: [apps], due, clock: systemClock, log: silentLog, failpoint: () => {} },
    activity: {
      raiseFloor: () => activity.raiseFloor(),
      end: async end => {
        const written = await activity.end(end)
        ends.dispatchEvent(new CustomEvent(end.id, { detail: end }))
        return written
      },
    },
    metrics: createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined }),
  })
  await apps.start(...ids)
  engine.start()
  onTestFinished(() => engine.stop())
  const nextEnd = async (id: string) => {
    const [event] = await once(ends, id, { signal: AbortSignal.timeout(20_000) })
    return (event as CustomEvent<CheckEnd>).detail
  }
  return { apps, nextEnd }
}

const told = async () => {
  const { events } = await idle().activity.readEvents('0-0', 1000)
  return events.map(({ event, workload }) => `${event} ${workload}`)
}

/** A gateway through which these are used all the time. */
async function openGateway(...used: string[]) {
  const gateway = idle().gateway('g')
  await gateway.join()
  const uses = used.map(id => ({ kind: 'app' as const, id }))
  const timer = setInterval(() => gateway.flush(uses).catch(() => {}), 100)
  const stop = () => clearInterval(timer)
  onTestFinished(stop)
  return { gateway, stop }
}

test('an app that nobody uses is warned of and stopped, and one that is used is not', async () => {
  const { gateway } = await openGateway('used')
  const { apps } = await start('idle', 'used')
  let whileStopping: string | undefined
  apps.onRequested = async id => {
    whileStopping = await gateway.touch({ kind: 'app', id })
  }
  expect(await apps.nextStopped()).toBe('idle')
  expect(whileStopping).toBe('stopping')
  expect(apps.runs('used')).toBe(true)
  expect(await told()).toEqual(['warning idle', 'stopping idle'])
  const [stopped, used] = await idle().activity.find('app', ['idle', 'used'])
  expect(stopped?.stopped?.words).toBe('stopped after 1 s without activity (rule short)')
  expect(used).toMatchObject({ activity: { source: 'traffic' }, finding: { state: 'active', rule: 'short' } })
  expect(await idle().due.ids('app')).toEqual(['used'])
})

test('no app is stopped while no gateway tells', async () => {
  const { gateway, stop } = await openGateway()
  stop()
  await gateway.leave()
  const { apps, nextEnd } = await start('idle')
  // Long after its time.
  await nextEnd('idle')
  await idle().pass('app', 'idle', 60_000)
  await nextEnd('idle')
  for (let checks = 0; checks < 3; checks++) expect((await nextEnd('idle')).finding.state).toBe('unknown')
  expect(apps.runs('idle')).toBe(true)
  const stopped = apps.nextStopped()
  await gateway.join()
  expect(await stopped).toBe('idle')
})

test('an edit wins over the stop, and the app is looked at anew', async () => {
  const { gateway } = await openGateway()
  const { apps, nextEnd } = await start('idle')
  const asked = Promise.withResolvers<void>()
  apps.onRequested = id => {
    apps.edit(id)
    asked.resolve()
  }
  await asked.promise
  await nextEnd('idle')
  expect(apps.runs('idle')).toBe(true)
  expect(await gateway.touch({ kind: 'app', id: 'idle' })).toBe('kept')
})
