/** Draws docs/idle.svg: what Prometheus sees while five real labs are left alone. */
import { systemClock } from '../../src/base/clock.ts'
import { parseOptions } from '../demo/options.ts'
import { drawMetrics } from '../pictures/draw-metrics.ts'
import { askForPanel, type PanelQuery } from '../pictures/panels.ts'
import { Prometheus } from '../pictures/prometheus.ts'
import { createProgress } from '../process/progress.ts'
import { setup } from '../setup/setup.ts'
import { withLabsAlone } from './alone.ts'
import { idle, rule } from './demo.ts'
import { people } from './people.ts'
import type { Place } from './place.ts'
import { requireOutcomes } from './report.ts'
import { watch } from './watch.ts'

const queries: readonly PanelQuery[] = [
  {
    title: 'Labs by state at their last check',
    expression: 'max by (state) (skylab_idle_workloads{kind="lab"})',
    label: 'state',
  },
  {
    title: 'Checks per second, by result',
    expression: 'sum by (result) (rate(skylab_idle_checks_total{kind="lab"}[10s])) > 0',
    label: 'result',
  },
  {
    title: 'Seconds after which 99 of 100 checks have begun',
    expression: 'histogram_quantile(0.99, sum by (le) (rate(skylab_idle_check_lateness_seconds_bucket[30s])))',
    label: 'after they were due',
  },
  {
    title: 'Stops so far, by reason',
    expression: 'sum by (reason) (skylab_idle_stops_total{result="requested"})',
    label: 'reason',
  },
]

/** @returns the picture as SVG */
export async function drawIdleness(signal: AbortSignal): Promise<string> {
  const progress = createProgress()
  const options = parseOptions(['--idle', '--once', '--json'])
  const { program } = await setup(['prometheus'], progress, signal)
  return withLabsAlone({ options, idle, progress, signal }, async place => {
    await Promise.all(people.map(({ name }) => place.spawn(name)))
    const prometheus = await startPrometheus(place, program('prometheus'), signal)
    const beginMs = systemClock.wallMs()
    requireOutcomes(await watch({ options, signal, place, idleTimeoutSeconds: rule.idleTimeoutSeconds }))
    const endMs = systemClock.wallMs()
    const panels = await Promise.all(queries.map(query => askForPanel(query, prometheus, { beginMs, endMs })))
    await prometheus.stop()
    const title = `Metrics while ${people.length} labs are left alone, with a timeout of ${rule.idleTimeoutSeconds} s`
    return drawMetrics(title, panels, (endMs - beginMs) / 1000)
  })
}

function startPrometheus({ stack }: Place, program: string, signal: AbortSignal): Promise<Prometheus> {
  const targets = stack.replicas.map(({ monitoringPort }) => `127.0.0.1:${monitoringPort}`)
  return Prometheus.start({ stateDir: stack.cluster.stateDir, program, targets, signal })
}
