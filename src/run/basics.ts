/** The basics of all parts: settings, clock, log, metrics and traces. */
import { Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import { type Clock, systemClock } from '../base/clock.ts'
import type { Config } from '../config/schema.ts'
import type { Settings } from '../settings/load.ts'
import { AuditLog } from '../telemetry/audit.ts'
import { StreamSink, sinksOf } from '../telemetry/audit-sinks.ts'
import { createLogger, type Logger } from '../telemetry/log.ts'
import { beginAtZero, collectProcessMetrics, createMetrics, type Metrics } from '../telemetry/metrics.ts'
import type { OtelOptions } from '../telemetry/otel.ts'
import { noTracing, type Tracing } from '../telemetry/tracing.ts'

export const { version } = packageJson

/** Makes the sender of traces. */
export type CreateTracing = (options: OtelOptions) => Tracing

export interface Basics {
  readonly settings: Settings
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing: Tracing
  /** Undefined without an audit log. */
  readonly auditLog: AuditLog | undefined
}

/** @param createTracing only if traces are sent */
export function makeBasics(settings: Settings, createTracing?: CreateTracing): Basics {
  const { config, replica } = settings
  const { installation } = config
  const clock = systemClock
  // Both kinds of lines use one stream, so that they never interleave.
  const stdout = new StreamSink('stdout', 1)
  const log = createLogger({ level: config.logLevel, replica, destination: stdout })
  const metrics = createMetrics(new Registry())
  collectProcessMetrics(metrics.registry)
  beginAtZero(metrics)
  const auditLog = () => {
    const sinks = sinksOf(config.audit.file, stdout, new StreamSink('stderr', 2))
    return new AuditLog({ replica, installation, clock, sinks, metrics, log })
  }
  const tracing = createTracing?.({
    tracing: config.tracing,
    headers: settings.tracingHeaders,
    installation,
    version,
    replica,
    clock,
    log,
    metrics,
  })
  return {
    settings,
    config,
    clock,
    log,
    metrics,
    tracing: tracing ?? noTracing,
    auditLog: config.audit.enabled ? auditLog() : undefined,
  }
}
