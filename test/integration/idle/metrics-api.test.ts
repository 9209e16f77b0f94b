/** What pods use, as a real API server passes it on from a server of metrics behind it. */
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { keepRights } from '../../../dev/kube/rights.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { idle as schema } from '../../../src/config/idle.ts'
import { cpuDuty } from '../../../src/idle/cpu.ts'
import { IdleEngine } from '../../../src/idle/engine.ts'
import { KubeClient } from '../../../src/kube/client.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { UsageStore } from '../../../src/store/usage.ts'
import { createIdleMetrics } from '../../../src/telemetry/idle-metrics.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { type MetricsBox, startMetricsBox } from '../../kit/idle/metrics-box.ts'
import { ToyApps } from '../../kit/idle/toy-apps.ts'
import { silentLog } from '../../kit/log.ts'
import { useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
let box: MetricsBox
let kube: KubeClient

beforeAll(async () => {
  box = await startMetricsBox()
  kube = new KubeClient({
    ...{ clock: systemClock, log: silentLog, version: 'test', replica: 'test' },
    kubernetes: { kubeconfig: box.kubeconfig, requestTimeoutSeconds: 10, maxInFlight: 4 },
  })
})

afterAll(async () => {
  await kube?.close()
  if (box) await keepRights(box.auditLog, 'metrics')
  await box?.close()
})

const periodSeconds = 1
const rule = { name: 'jobs', match: { kinds: ['app'] }, sources: ['cpu'], cpu: { millicores: 200 } }
const config = schema.parse({
  ...{ enabled: true, checkPeriodSeconds: 0.2, restPeriodSeconds: 2, cpuPeriodSeconds: periodSeconds },
  rules: [{ ...rule, idleTimeoutSeconds: 4, warnSeconds: 1 }],
})

const figure = (name: string, cpu: string, labels: Record<string, string> = { 'made-by': 'toy' }) => ({
  ...{ namespace: 'apps', name, cpu, labels },
})

/** Lists as a replica does. */
function startLists(apps: ToyApps, results: string[] = []): void {
  const { connection, keys, owners, tasks } = idle().store
  const leases = new Leases({
    ...{ redis: connection.commands, owners, tasks, clock: systemClock, ttlMs: 3000 },
    keyOf: name => keys.lease(name),
  })
  const duty = cpuDuty({
    ...{ kube, leases, lease: keys.cpuLease, pods: apps, rules: config.rules, periodSeconds },
    ...{ clock: systemClock, log: silentLog, store: new UsageStore(connection, keys) },
    onList: result => results.push(result),
  })
  duty.start()
  onTestFinished(async () => {
    await duty.stop()
    await leases.close()
  })
}

async function startApps(...ids: string[]): Promise<ToyApps> {
  const { activity, due } = idle()
  const apps = new ToyApps(idle())
  const metrics = createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined })
  const engine = new IdleEngine({
    ...{ idle: config, owners: [apps], due, activity, metrics },
    ...{ clock: systemClock, log: silentLog, failpoint: () => {} },
  })
  await apps.start(...ids)
  engine.start()
  onTestFinished(() => engine.stop())
  return apps
}

const found = async (id: string) => (await idle().activity.find('app', [id]))[0]

test('without the right nothing is known, and nobody is stopped', async () => {
  const apps = await startApps('a')
  const results: string[] = []
  box.metrics.figures = [figure('a', '1m')]
  const before = box.metrics.lists.length
  startLists(apps, results)
  await eventually('refused lists', async () => results.length >= 3, 30_000)
  expect(new Set(results)).toEqual(new Set(['failed']))
  expect(box.metrics.lists.length).toBe(before)
  expect(kube.trouble()).toBeUndefined()
  expect(await idle().known('app', 'a')).not.toHaveProperty('cpu')
  await box.grant()
  await eventually('a list', async () => results.includes('done'), 30_000)
})

test('one list for all in each period keeps those that compute, and lets the others be stopped', async () => {
  await box.grant()
  const apps = await startApps('busy', 'idle', 'unlisted')
  const paged = [...Array.from({ length: 5 }, (_, i) => figure(`other${i}`, '2')), figure('idle', '3m')]
  box.metrics.figures = [figure('busy', '250m'), ...paged, figure('unlisted', '900m', {})]
  const results: string[] = []
  startLists(apps, results)
  startLists(apps, results)
  expect(await apps.nextStopped()).toBe('idle')
  expect(await found('busy')).toMatchObject({ activity: { source: 'cpu' }, finding: { state: 'active' } })
  // Without a figure nothing is known of it.
  expect(await found('unlisted')).toMatchObject({ finding: { state: 'unknown' } })
  expect([apps.runs('busy'), apps.runs('unlisted')]).toEqual([true, true])
  expect(new Set(results)).toEqual(new Set(['done']))
  const [beganMs, lists] = [performance.now(), box.metrics.lists.length]
  for (let count = 0; count < 4; count++) await box.metrics.nextList()
  const periods = (performance.now() - beganMs) / 1000 / periodSeconds
  expect(box.metrics.lists.length - lists).toBeLessThanOrEqual(Math.ceil(periods) + 1)
  expect(box.metrics.lists.at(-1)!.get('labelSelector')).toBe('made-by=toy')
})

test('pages are read to their end', async () => {
  await box.grant()
  const apps = await startApps('last')
  box.metrics.pageSize = 2
  box.metrics.figures = [...Array.from({ length: 5 }, (_, i) => figure(`other${i}`, '2')), figure('last', '250m')]
  onTestFinished(() => {
    box.metrics.pageSize = Number.POSITIVE_INFINITY
  })
  startLists(apps)
  await eventually('its figure', async () => (await found('last'))?.activity?.source === 'cpu', 30_000)
})

test('while lists fail nobody is stopped, and afterwards they are', async () => {
  await box.grant()
  const apps = await startApps('idle')
  box.metrics.figures = [figure('idle', '3m')]
  const results: string[] = []
  startLists(apps, results)
  await eventually('a figure', async () => 'cpu' in (await idle().known('app', 'idle')), 30_000)
  box.metrics.status = 503
  await eventually('an unknown state', async () => (await found('idle'))?.finding?.state === 'unknown', 30_000)
  await idle().pass('app', 'idle', 60_000)
  const failures = results.length
  await eventually('another failed list', async () => results.length > failures, 60_000)
  expect(results.at(-1)).toBe('failed')
  expect(apps.runs('idle')).toBe(true)
  const stopped = apps.nextStopped()
  box.metrics.status = 200
  expect(await stopped).toBe('idle')
})
