/** What processes use, as the kernel counts it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { readRecord, recordedNames } from '../../dev/process/process.ts'
import type { Stack } from '../../dev/stack/stack.ts'

const ticksPerSecond = 100

/** Seconds of processor time since their start, by what the processes are. */
export type Usage = Readonly<Record<string, number>>

/** What is counted: all that the run has recorded, and processes of the bench's own by name. */
export function usageOf(stack: Stack, stateDir: string, others: Readonly<Record<string, number>>): Usage {
  const recorded = [stateDir, stack.cluster.stateDir].flatMap(folder =>
    recordedNames(folder).map(name => [kindOf(name), readRecord(folder, name)?.pid] as const),
  )
  const usage: Record<string, number> = {}
  for (const [name, pid] of [...recorded, ...Object.entries(others)]) {
    if (pid !== undefined) usage[name] = (usage[name] ?? 0) + cpuSeconds(pid)
  }
  return usage
}

/** `replica-2` is one of the replicas, `redis-33127` is Redis. */
const kindOf = (name: string): string =>
  name.startsWith('replica-') ? 'replicas' : name.startsWith('balancer') ? 'balancer' : name.replace(/-\d+$/, '')

export function usedBetween(before: Usage, after: Usage): Usage {
  return Object.fromEntries(Object.entries(after).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]))
}

/** 0 for a process that has ended. */
function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return 0
  }
}

/** Memory of a process that is really in use, in MiB. */
export interface Memory {
  readonly nowMib: number
  /** The most at once since its start, or since `restartPeak`. */
  readonly peakMib: number
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { nowMib: mib('VmRSS'), peakMib: mib('VmHWM') }
}

/** The most memory that a process has had in use at once, in whole MiB. */
export const peakMib = (pid: number): number => Math.round(memoryOf(pid).peakMib)

/** From now on the peak of a process of ours counts anew. */
export function restartPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
