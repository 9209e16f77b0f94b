/** All processes of a machine, found by a mark in their environment, and those that they started. */
import { type Clock, systemClock } from '../../base/clock.ts'
import { foundNothing, type Look, lookTwice, processIds, statOf, whoseIs } from '../../base/proc.ts'

/** Its value is the machine's folder. A process passes it on to those that it starts, mostly without knowing. */
export const machineMark = 'SKYLAB_LOOPBACK_MACHINE'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly birth: string
  readonly mark: ReturnType<typeof whoseIs>
}

const endLimitMs = 10_000
const pollMs = 10

/**
 * Ends all processes of a machine, as far as they are known after a second. They are stopped first, so that none gets away while
 * others are looked for.
 * @throws when they do not end, such as those of another user
 */
export async function endProcesses(folder: string, clock: Clock = systemClock, lookAt = look): Promise<void> {
  const stopped = new Map<number, string>()
  const beginMs = clock.monotonicMs()
  for (;;) {
    const seen = lookTwice(() => lookAt(folder))
    const { found } = seen
    const tookMs = clock.monotonicMs() - beginMs
    const fresh = found.filter(({ pid, birth }) => stopped.get(pid) !== birth && send(pid, 'SIGSTOP'))
    for (const { pid, birth } of fresh) stopped.set(pid, birth)
    if (fresh.length > 0 && tookMs <= endLimitMs) continue
    for (const { pid } of found) send(pid, 'SIGKILL')
    if (foundNothing(seen, tookMs)) return
    if (tookMs > endLimitMs) throw new Error(`${found.length} processes of ${folder} do not end`)
    await clock.sleep(pollMs)
  }
}

/** `pid birth`, for a file; undefined when it has ended. */
export function identityOf(pid: number): string | undefined {
  const stat = statOf(pid)
  return stat && !stat.hasEnded ? `${pid} ${stat.birth}` : undefined
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
  if (!stat || stat.hasEnded) return undefined
  return { pid, parent: stat.parent, birth: stat.birth, mark: whoseIs(pid, `${machineMark}=${folder}`, stat) }
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
