import { Registry } from 'prom-client'
import { expect, it, onTestFinished } from 'vitest'
import { createIdleMetrics } from '../telemetry/idle-metrics.ts'
import { idleSince, startMs } from './testing/history.ts'
import { IdleWorld } from './testing/world.ts'

const config = {
  ...{ enabled: true, checkPeriodSeconds: 5, restPeriodSeconds: 20 },
  rules: [{ name: 'short', idleTimeoutSeconds: 60, warnSeconds: 10 }],
}

function start(more: Partial<Pick<IdleWorld, 'unreported' | 'trafficIsUntold'>>) {
  const world = new IdleWorld()
  world.add('idle', nowMs => idleSince(nowMs - startMs))
  Object.assign(world, more)
  const metrics = createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined })
  const engine = world.engine(config, metrics)
  engine.start()
  onTestFinished(() => engine.stop())
  return { world, causes: async () => (await metrics.holds.get()).values.map(({ labels }) => labels.cause) }
}

it('IdleEngine stops nobody while gateways have not reported, and counts that', async () => {
  const { world, causes } = start({ unreported: [], trafficIsUntold: true })
  await world.pass(100_000)
  expect(world.stops).toEqual([])
  expect(world.ended.at(-1)?.finding.state).toBe('unknown')
  expect(await causes()).toEqual(['traffic'])
  world.trafficIsUntold = false
  await world.pass(10_000)
  expect(world.stops).toHaveLength(1)
})

it('IdleEngine waits for no gateway when none serves the kind', async () => {
  const { world, causes } = start({ trafficIsUntold: true })
  await world.pass(70_000)
  expect(world.stops).toHaveLength(1)
  expect(await causes()).toEqual([])
})
