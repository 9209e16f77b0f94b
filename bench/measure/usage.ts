/** Processor time and memory of processes, as the kernel counts them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readRecord, recordedNames } from '../../dev/process/process.ts'
import type { Stack } from '../../dev/stack/stack.ts'

const ticksPerSecond = 100

/** Seconds of processor time since the processes' start, by kind of process. */
export type Usage = Readonly<Record<string, number>>

/** Usage of all processes that the run has recorded, and of the bench's own by name. */
export function usageOf(stack: Stack, stateDir: string, others: Readonly<Record<string, number>>): Usage {
  return sumOf([...recorded(stack, stateDir), ...Object.entries(others)], cpuSeconds)
}

/** Resident memory of all processes that the run has recorded, in MiB, by kind of process. */
export const residentOf = (stack: Stack, stateDir: string): Readonly<Record<string, number>> =>
  sumOf(recorded(stack, stateDir), pid => (existsSync(`/proc/${pid}`) ? memoryOf(pid).nowMib : 0))

type Named = readonly [string, number]

function recorded(stack: Stack, stateDir: string): readonly Named[] {
  return [stateDir, stack.cluster.stateDir].flatMap(folder =>
    recordedNames(folder).flatMap((name): Named[] => {
      const pid = readRecord(folder, name)?.pid
      return pid === undefined ? [] : [[kindOf(name), pid]]
    }),
  )
}

function sumOf(processes: readonly Named[], value: (pid: number) => number): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, pid] of processes) sums[name] = (sums[name] ?? 0) + value(pid)
  return sums
}

/** `replica-2` is one of the replicas, `redis-33127` is Redis. */
const kindOf = (name: string): string =>
  name.startsWith('replica-') ? 'replicas' : name.startsWith('balancer') ? 'balancer' : name.replace(/-\d+$/, '')

export function usedBetween(before: Usage, after: Usage): Usage {
  return Object.fromEntries(Object.entries(after).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]))
}

/** Processor time since the start of a process; 0 for one that has ended. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return 0
  }
}

/** Memory that a process really uses, in MiB. */
export interface Memory {
  readonly nowMib: number
  /** The maximum since its start, or since `restartPeak`. */
  readonly peakMib: number
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { nowMib: mib('VmRSS'), peakMib: mib('VmHWM') }
}

/** Memory of each replica, in whole MiB: at most since its start, and now. */
export function memoryFigures(replicas: readonly { readonly pid: number }[]): object {
  const each = replicas.map(({ pid }) => memoryOf(pid))
  return {
    at_most: each.map(memory => Math.round(memory.peakMib)),
    at_rest: each.map(memory => Math.round(memory.nowMib)),
  }
}

/** The peak memory of a process, in whole MiB. */
export const peakMib = (pid: number): number => Math.round(memoryOf(pid).peakMib)

/** Starts a new peak for a process of this user. */
export function restartPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
