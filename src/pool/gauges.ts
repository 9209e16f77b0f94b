/** Metrics of machines and queue, by Arvados' names without their prefix. Pure. */
import { type DispatchCensus, type InstanceCategory, instanceCategories, type TypeCensus } from '../dispatch/census.ts'
import { type MachineBrief, sentOf } from '../dispatch/container.ts'
import type { MachineType, Throttle } from '../dispatch/types.ts'

/** The queue in numbers, as Redis has them. */
export interface QueueCounts {
  /** Queued, or assigned to a machine that was not asked yet. */
  readonly waiting: number
  /** When the first of them was queued; 0 without any. */
  readonly oldestMs: number
}

export interface GaugeInput {
  readonly machines: readonly MachineBrief[]
  readonly counts: QueueCounts
  readonly types: readonly MachineType[]
  readonly throttle: Throttle
  /** Infinite without a limit; undefined while another replica schedules. */
  readonly maxContainers: number | undefined
  /** Names of machines that were not asked what they run, since the data were compared. */
  readonly unasked: readonly string[]
  /** TimeoutProbe: who answers for so long no more is in doubt. */
  readonly timeoutProbeMs: number
  readonly nowMs: number
}

const second = 1000

export function gaugesOf(input: GaugeInput): DispatchCensus {
  const { machines, counts, types, throttle, maxContainers, nowMs } = input
  const asked = machines.flatMap(sentOf).length
  const running = machines.filter(({ state }) => state === 'running').flatMap(sentOf).length
  const unsent = machines.flatMap(({ containers }) => containers).length - asked
  const waitedMs = counts.oldestMs === 0 ? 0 : Math.max(0, nowMs - counts.oldestMs)
  return {
    containers_running: running,
    containers_allocated_not_started: unsent + Math.max(0, asked - running),
    containers_not_allocated_over_quota: Math.max(0, counts.waiting - unsent),
    containers_longest_wait_time_seconds: waitedMs / second,
    max_concurrent_containers: maxContainers === Number.POSITIVE_INFINITY ? 0 : maxContainers,
    at_quota: throttle.hurry ? 1 : 0,
    ...probeAges(machines, nowMs),
    byType: byType(machines, types),
    inDoubt: inDoubt(input),
  }
}

/** As Arvados counts them. A machine that shuts down is none of ours to use, but it is paid for. */
export function categoryOf(machine: MachineBrief): InstanceCategory {
  const { idleBehavior, state } = machine
  if (sentOf(machine).length > 0) return 'inuse'
  if (idleBehavior === 'hold') return 'hold'
  if (state === 'creating' || state === 'booting') return 'booting'
  return state === 'unknown' ? 'unknown' : state === 'running' ? 'inuse' : 'idle'
}

function inDoubt({ machines, unasked, timeoutProbeMs, nowMs }: GaugeInput): number {
  const silent = machines.filter(({ probedMs }) => probedMs > 0 && nowMs - probedMs > timeoutProbeMs)
  return new Set([...unasked, ...silent.map(({ name }) => name)]).size
}

/** Only machines that answer probes have an age of one. */
function probeAges(machines: readonly MachineBrief[], nowMs: number) {
  const ages = machines
    .filter(({ probedMs, state }) => probedMs > 0 && state !== 'shutdown')
    .map(({ probedMs }) => Math.max(0, nowMs - probedMs) / second)
    .toSorted((a, b) => a - b)
  return {
    probe_age_seconds_max: ages.at(-1) ?? 0,
    probe_age_seconds_median: ages[Math.floor((ages.length - 1) / 2)] ?? 0,
  }
}

/** Types without machines are there too: a series that comes and goes is harder to add up. */
function byType(machines: readonly MachineBrief[], types: readonly MachineType[]): ReadonlyMap<string, TypeCensus> {
  const known = new Map(types.map(type => [type.name, type]))
  const all = new Map(types.map(({ name }) => [name, none()]))
  for (const machine of machines) {
    const { type, price } = machine
    const gauges = all.get(type) ?? none()
    all.set(type, gauges)
    const category = categoryOf(machine)
    gauges.instances_total[category] += 1
    gauges.instances_price[category] += price
    gauges.vcpus_total[category] += known.get(type)?.vcpus ?? 0
    gauges.memory_bytes_total[category] += known.get(type)?.ramBytes ?? 0
  }
  return all
}

const zeros = () => Object.fromEntries(instanceCategories.map(name => [name, 0])) as Record<InstanceCategory, number>
const none = () => ({
  ...{ instances_total: zeros(), instances_price: zeros(), vcpus_total: zeros(), memory_bytes_total: zeros() },
})
