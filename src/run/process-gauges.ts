/** Joins the gauges of a process that serves no labs and speaks to no cluster. */
import { createProcessGauges } from '../telemetry/gauges.ts'
import { forgetLabs } from '../telemetry/metrics.ts'
import { type Basics, version } from './basics.ts'

export function addProcessGauges({ metrics, config }: Basics, connection: { connected(): boolean }): void {
  const { registry } = metrics
  forgetLabs(registry)
  createProcessGauges(registry, {
    ...{ version, run: config.run.join(), redisConnected: () => connection.connected() },
    watchSilenceMs: () => ({}),
    kubernetesLoad: () => ({ inFlight: 0, waiting: 0 }),
  })
}
