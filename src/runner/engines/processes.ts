/** Finds and ends the processes of one run: by control group, by the group and session of its leader, and by a mark. */
import { readFileSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { foundNothing, type Look, lookTwice, processIds, statOf, whoseIs } from '../../base/proc.ts'
import type { Begun, Started } from '../state/run-folder.ts'
import { Cgroup } from './cgroups.ts'

/** In the environment of each process of a run. A process may wipe it, so it is one way of three. */
export const markVariable = 'SKYLAB_RUNNER_MARK'

const againMs = 20

/** Identifies the processes of a run. */
export interface Traces {
  readonly mark: string
  readonly begun: Begun
  readonly started: Pick<Started, 'pid' | 'birth'> | undefined
}

/** Distinguishes a process from a later one with the same id, also after a restart of the machine. */
export function birthOf(pid: number): string {
  return `${bootId()} ${statOf(pid)?.birth ?? ''}`
}

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** Whether the ids of the leader's group still mean the run's: another process may have them by now. */
function isOurs({ pid, birth = '' }: Pick<Started, 'pid' | 'birth'>): boolean {
  if (pid === undefined || birth.split(' ')[0] !== bootId()) return false
  const now = statOf(pid)
  return now === undefined || `${bootId()} ${now.birth}` === birth
}

/** All processes of a run. */
export function look({ mark, begun, started }: Traces): Look<number> {
  const members = new Set(begun.cgroup === undefined ? [] : new Cgroup(begun.cgroup).members())
  const leader = started && isOurs(started) ? started.pid : undefined
  const found: number[] = []
  let isUnsure = false
  for (const pid of new Set([...members, ...processIds()])) {
    const stat = statOf(pid)
    if (!stat || stat.hasEnded) continue
    const isNear = members.has(pid) || (leader !== undefined && [stat.group, stat.session].includes(leader))
    const whose = isNear ? 'ours' : whoseIs(pid, `${markVariable}=${mark}`, stat)
    if (whose === 'ours') found.push(pid)
    if (whose === 'starting') isUnsure = true
  }
  // A control group has all of them.
  return { found, isUnsure: isUnsure && begun.cgroup === undefined }
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
 * Sends SIGKILL until nothing is left, as far as is known after a second.
 * @returns whether nothing is left
 */
export async function killAll(traces: Traces, clock: Clock, limitMs: number, lookAt = look): Promise<boolean> {
  const beginMs = clock.monotonicMs()
  for (;;) {
    if (traces.begun.cgroup !== undefined) new Cgroup(traces.begun.cgroup).kill()
    const seen = lookTwice(() => lookAt(traces))
    const tookMs = clock.monotonicMs() - beginMs
    if (foundNothing(seen, tookMs)) return true
    if (tookMs > limitMs) return false
    signalAll(seen.found, 'SIGKILL')
    await clock.sleep(againMs)
  }
}
