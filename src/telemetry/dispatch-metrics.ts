/**
 * Metrics of containers and machines. Those with Arvados' names have Arvados' labels and help, so that its boards go on working; only a
 * process for dispatch has any of them. Labels name no person and no machine.
 */
import { Counter, Gauge, Histogram, type Registry, Summary } from 'prom-client'
import { callBuckets } from './buckets.ts'

export type DispatchMetrics = ReturnType<typeof createDispatchMetrics>

export const bootOutcomes = ['success', 'failure', 'aborted', 'disappeared'] as const
export const workerStates = ['unknown', 'booting', 'idle', 'running', 'shutdown'] as const
export const driverOperations = ['Create', 'List', 'Destroy', 'SetTags'] as const
export const staleReasons = ['epoch', 'run'] as const
/** A machine, and what drivers make before one. */
export const leakKinds = ['instance', 'nic'] as const
export const passParts = ['read', 'decide', 'write'] as const
/** How a log ends, or why it does not begin. */
const logEndings = ['complete', 'stopped', 'left', 'cut', 'refused', 'failed'] as const

/** As Arvados' summaries. Samples are forgotten after ten minutes, so that a board shows what is, not what was. */
const quantiles = { percentiles: [0.5, 0.9, 0.95, 0.99], maxAgeSeconds: 600, ageBuckets: 5 }

/** @param registry that of the process */
export function createDispatchMetrics(registry: Registry) {
  const registers = [registry]
  const metrics = { ...asArvados(registers), ...ours(registers), ...ofLogs(registers) }
  // A series that begins with its first event hides this event from `increase`.
  for (const outcome of bootOutcomes) metrics.bootOutcomes.inc({ outcome }, 0)
  for (const state of workerStates) metrics.instancesDisappeared.inc({ state }, 0)
  for (const operation of driverOperations) {
    for (const error of ['0', '1']) metrics.driverOperations.inc({ operation, error }, 0)
  }
  for (const ending of logEndings) metrics.logs.inc({ ending }, 0)
  for (const reason of staleReasons) metrics.staleRefused.inc({ reason }, 0)
  for (const kind of leakKinds) metrics.leaksDestroyed.inc({ kind }, 0)
  for (const part of passParts) metrics.passDuration.zero({ part })
  return metrics
}

/** What happens, by Arvados' names. What is, is in `dispatch-gauges.ts`. */
function asArvados(registers: Registry[]) {
  const name = (text: string) => `arvados_dispatchcloud_${text}`
  return {
    bootOutcomes: new Counter({
      name: name('boot_outcomes'),
      help: 'Boot outcomes by type (success, failure, aborted: it was not needed any more, disappeared), counted by the replica that keeps the machine',
      labelNames: ['outcome'] as const,
      registers,
    }),
    instancesDisappeared: new Counter({
      name: name('instances_disappeared'),
      help: "Number of occurrences of an instance disappearing from the cloud provider's list of instances, by the state that it had (shutdown: it was to end)",
      labelNames: ['state'] as const,
      registers,
    }),
    driverOperations: new Counter({
      name: name('driver_operations'),
      help: 'Number of instance-create/destroy/list operations performed via cloud driver, by operation (Create, List, Destroy, SetTags) and error (0, 1)',
      labelNames: ['operation', 'error'] as const,
      registers,
    }),
    timeToSsh: new Summary({
      name: name('instances_time_to_ssh_seconds'),
      help: 'Number of seconds between instance creation, when it was decided, and the first successful SSH connection',
      ...quantiles,
      registers,
    }),
    timeToReady: new Summary({
      name: name('instances_time_to_ready_for_container_seconds'),
      help: 'Number of seconds between the first successful SSH connection and ready to run a container',
      ...quantiles,
      registers,
    }),
    timeToGone: new Summary({
      name: name('instances_time_from_shutdown_request_to_disappearance_seconds'),
      help: 'Number of seconds between the first shutdown attempt, when it was decided, and the disappearance of the worker',
      ...quantiles,
      registers,
    }),
    timeFromQueue: new Summary({
      name: name('containers_time_from_queue_to_crunch_run_seconds'),
      help: 'Number of seconds between the queuing of a container and the first start of its runner',
      ...quantiles,
      registers,
    }),
    probeDuration: new Summary({
      name: name('instances_run_probe_duration_seconds'),
      help: 'Number of seconds until a machine has said what it runs, by outcome (success, fail); it is asked on each new connection',
      labelNames: ['outcome'] as const,
      ...quantiles,
      registers,
    }),
  }
}

function ours(registers: Registry[]) {
  return {
    passDuration: new Histogram({
      name: 'skylab_dispatch_pass_seconds',
      help: 'Time of one pass of the scheduler, by part (read, decide, write)',
      labelNames: ['part'] as const,
      buckets: callBuckets,
      registers,
    }),
    staleRefused: new Counter({
      name: 'skylab_dispatch_stale_refused_total',
      help: 'Requests that a machine refused to a former keeper, by reason (epoch: another keeper has come since; run: a later run of the container was sent)',
      labelNames: ['reason'] as const,
      registers,
    }),
    leaksDestroyed: new Counter({
      name: 'skylab_dispatch_leaks_destroyed_total',
      help: 'Things of ours in the cloud that no record had, and that were destroyed, by kind (instance, or that of a part such as nic)',
      labelNames: ['kind'] as const,
      registers,
    }),
  }
}

function ofLogs(registers: Registry[]) {
  return {
    logsOpen: new Gauge({
      name: 'skylab_dispatch_log_streams_open',
      help: 'Outputs of containers that clients read now',
      registers,
    }),
    logs: new Counter({
      name: 'skylab_dispatch_log_streams_total',
      help: 'Outputs of containers whose reading ended at this replica, by ending (complete; stopped: after api.limits.maxLogSeconds, at the end of the replica, or since the reader may read no more; left: by the reader; cut: too much, or nobody reads; refused: there is no such container; failed: Redis gave none)',
      labelNames: ['ending'] as const,
      registers,
    }),
  }
}
