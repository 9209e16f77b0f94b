/** Engines for tests, in a world that a test moves. */
import { afterEach } from 'vitest'
import type { IdleMetrics } from '../../telemetry/idle-metrics.ts'
import type { IdleEngine } from '../engine.ts'
import type { IdleWorld } from './world.ts'

const config = {
  enabled: true,
  checkPeriodSeconds: 5,
  restPeriodSeconds: 20,
  probeTimeoutSeconds: 5,
  rules: [{ name: 'short', idleTimeoutSeconds: 60, warnSeconds: 10 }],
}

/** @returns a function that starts one, as configured here but for what it is given; each ends with its test */
export function useEngines(): (world: IdleWorld, more?: object, metrics?: IdleMetrics) => IdleEngine {
  const engines: IdleEngine[] = []
  afterEach(async () => {
    await Promise.all(engines.splice(0).map(engine => engine.stop()))
  })
  return (world, more = {}, metrics) => {
    const engine = world.engine({ ...config, ...more }, metrics)
    engine.start()
    engines.push(engine)
    return engine
  }
}
