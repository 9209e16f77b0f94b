/** Finds and ends the processes of one run: by control group, by the group and session of its leader, and by a mark. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import type { Begun, Started } from '../state/run-folder.ts'
import { Cgroup } from './cgroups.ts'

/** In the environment of each process of a run. A process may wipe it, so it is one way of three. */
export const markVariable = 'SKYLAB_RUNNER_MARK'

const againMs = 20

/** What identifies the processes of a run. */
export interface Traces {
  readonly mark: string
  readonly begun: Begun
  readonly started: Pick<Started, 'pid' | 'birth'> | undefined
}

interface Stat {
  readonly state: string
  readonly group: number
  readonly session: number
  readonly birth: string
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // A name may have spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0]!, group: Number(fields[2]), session: Number(fields[3]), birth: fields[19]! }
  } catch {
    return undefined
  }
}

/** Distinguishes a process from a later one with the same id, also after a restart of the machine. */
export function birthOf(pid: number): string {
  return `${bootId()} ${statOf(pid)?.birth ?? ''}`
}

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

function hasMark(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${markVariable}=${mark}`)
  } catch {
    return false
  }
}

/** Whether the ids of the leader's group still mean the run's: another process may have them by now. */
function isOurs({ pid, birth = '' }: Pick<Started, 'pid' | 'birth'>): boolean {
  if (pid === undefined || birth.split(' ')[0] !== bootId()) return false
  const now = statOf(pid)
  return now === undefined || `${bootId()} ${now.birth}` === birth
}

/** All that run now. What has ended and was not collected yet does no harm. */
export function living({ mark, begun, started }: Traces): number[] {
  const found = new Set(begun.cgroup === undefined ? [] : new Cgroup(begun.cgroup).members())
  const leader = started && isOurs(started) ? started.pid : undefined
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || found.has(pid)) continue
    const stat = statOf(pid)
    if (stat && ((leader !== undefined && [stat.group, stat.session].includes(leader)) || hasMark(pid, mark)))
      found.add(pid)
  }
  return [...found].filter(pid => !['Z', 'X', undefined].includes(statOf(pid)?.state))
}

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }
}

/**
 * Sends SIGKILL until nothing is left.
 * @param look what runs now
 * @returns whether nothing is left
 */
export async function killAll(traces: Traces, clock: Clock, limitMs: number, look = living): Promise<boolean> {
  const endMs = clock.monotonicMs() + limitMs
  for (;;) {
    if (traces.begun.cgroup !== undefined) new Cgroup(traces.begun.cgroup).kill()
    const found = look(traces)
    // One look misses the child of a process that forks and ends meanwhile.
    const left = found.length > 0 ? found : look(traces)
    if (left.length === 0) return true
    if (clock.monotonicMs() > endMs) return false
    signalAll(left, 'SIGKILL')
    await clock.sleep(againMs)
  }
}
