/** The life of a process, whatever it serves: its ports, its signals, its drain and its end. */
import type { ApiServer } from '../api/connections/listen.ts'
import { type Readiness, startMonitoringServer } from '../api/monitoring.ts'
import { NeedsSomeone } from '../base/errors.ts'
import type { Basics } from './basics.ts'
import { drain } from './drain.ts'
import { closeParts, type Stage, stopParts } from './part.ts'

export interface Life {
  readonly basics: Basics
  readonly stages: readonly Stage[]
  /** What it waits for, in words. */
  readonly waiting: Set<string>
  readonly readiness: Readiness
  /** Opens the port of the API; undefined: it has none. */
  readonly listen?: (() => Promise<ApiServer>) | undefined
  /** More of the line that says where it listens. */
  readonly facts?: object
  /** From the signal to the end of the process. Default: `times.drainSeconds`. */
  readonly drainMs?: number
  /** Drains in its own way. Returns whether everything was handed over. */
  readonly drain?: () => Promise<boolean>
  /** Waits for what it needs, and begins to work. */
  start(signal: AbortSignal): Promise<void>
  /** Called when all answers are sent. */
  onDrained?(handedOver: boolean): void | Promise<void>
  /** Called when the monitoring port is closed, before the parts are. */
  onClosing?(): void | Promise<void>
}

/** Time since the process began. */
export const uptimeMs = (): number => Math.round(process.uptime() * 1000)

/** Part of the time that a drain reserves for the last parts. */
const monitoringGraceMs = 500

/** Lives until SIGTERM or SIGINT, then hands everything over and ends the process. */
export async function live(life: Life): Promise<void> {
  const { log, settings, config, clock, metrics } = life.basics
  const { waiting, readiness } = life
  for (const warning of settings.warnings) log.warn({ warning }, 'configuration')
  const monitoring = await startMonitoringServer({ config, metrics, clock, log, readiness })
  const server = await life.listen?.()
  const ports = { ...(server && { host: server.host, port: server.port }), monitoringPort: monitoring.port }
  log.info({ ...ports, ...life.facts, waitingFor: [...waiting], uptimeMs: uptimeMs() }, 'listening')

  const stopping = new AbortController()
  const end = async (signal: string) => {
    if (stopping.signal.aborted) return
    stopping.abort()
    log.info({ signal }, 'draining')
    waiting.add('nothing: this replica is draining')
    const overdue = setTimeout(() => process.exit(1), life.drainMs ?? config.times.drainSeconds * 1000)
    // Before the call: without a listener its arguments would not be evaluated.
    const isHandedOver = await (life.drain?.() ?? handedOver(life, server))
    await life.onDrained?.(isHandedOver)
    // Until here probes can still read that this replica is not ready.
    await monitoring.close(monitoringGraceMs)
    await life.onClosing?.()
    await closeParts(life.stages)
    clearTimeout(overdue)
    log.info('drained')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void end(signal))

  await life.start(stopping.signal).catch(error => {
    if (stopping.signal.aborted) return
    log.fatal({ err: error }, error instanceof NeedsSomeone ? error.message : 'cannot start')
    process.exit(error instanceof NeedsSomeone ? 2 : 1)
  })
}

/** Another replica goes on with what this one hands over. */
async function handedOver({ basics, stages }: Life, server: ApiServer | undefined): Promise<boolean> {
  const { clock, log, config } = basics
  const handOver = () => stopParts(stages)
  if (server) return drain({ clock, log, drainMs: config.times.drainSeconds * 1000, server, handOver })
  await handOver()
  return true
}
