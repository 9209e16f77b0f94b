/** All processes of a machine, found by a mark in their environment, and those that they started. */
import { type Clock, systemClock } from '../../base/clock.ts'
import { type Look, lookTwice, markOf, processIds, statOf } from '../../runner/engines/proc.ts'

/** Its value is the machine's folder. Who starts a process passes it on, mostly without knowing. */
export const machineMark = 'SKYLAB_LOOPBACK_MACHINE'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly birth: string
  readonly mark: ReturnType<typeof markOf>
}

const endLimitMs = 10_000
const pollMs = 10

/**
 * Ends all processes of a machine. They are stopped first, so that none gets away while others are looked for.
 * @throws when they do not end
 */
export async function endProcesses(folder: string, clock: Clock = systemClock): Promise<void> {
  const stopped = new Map<number, string>()
  const untilMs = clock.monotonicMs() + endLimitMs
  for (;;) {
    const { found, isUnsure } = lookTwice(() => look(folder))
    const fresh = found.filter(({ pid, birth }) => stopped.get(pid) !== birth)
    for (const { pid, birth } of fresh) if (send(pid, 'SIGSTOP')) stopped.set(pid, birth)
    if (fresh.length > 0) continue
    for (const { pid } of found) send(pid, 'SIGKILL')
    const isLate = clock.monotonicMs() > untilMs
    // Strangers start programs too, without an end.
    if (found.length === 0 && (isLate || !isUnsure)) return
    if (isLate) throw new Error(`${found.length} processes of ${folder} do not end`)
    await clock.sleep(pollMs)
  }
}

/** `pid birth`, for a file; undefined when it has ended. */
export function identityOf(pid: number): string | undefined {
  const stat = statOf(pid)
  return stat && `${pid} ${stat.birth}`
}

export const isRunning = (identity: string): boolean => identityOf(Number(identity.split(' ')[0])) === identity

function look(folder: string): Look<Process> {
  const all = processIds().flatMap(pid => read(pid, folder) ?? [])
  const members = new Set(all.filter(({ mark }) => mark === 'ours').map(({ pid }) => pid))
  for (let size = -1; size !== members.size; ) {
    size = members.size
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid)
  }
  members.delete(process.pid)
  return {
    found: all.filter(({ pid }) => members.has(pid)),
    isUnsure: all.some(({ pid, mark }) => mark === 'starting' && !members.has(pid)),
  }
}

function read(pid: number, folder: string): Process | undefined {
  const stat = statOf(pid)
  return stat && { pid, parent: stat.parent, birth: stat.birth, mark: markOf(pid, `${machineMark}=${folder}`) }
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
