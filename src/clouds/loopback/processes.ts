/** All processes of a machine, found by a mark in their environment, and those that they started. */
import { readdirSync, readFileSync } from 'node:fs'
import { type Clock, systemClock } from '../../base/clock.ts'

/** Its value is the machine's folder. Who starts a process passes it on, mostly without knowing. */
export const machineMark = 'SKYLAB_LOOPBACK_MACHINE'

interface Process {
  readonly pid: number
  readonly parent: number
  /** Numbers of processes come again, but not with the same start. */
  readonly started: string
  readonly isMarked: boolean
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
    const members = membersOf(folder)
    const fresh = members.filter(({ pid, started }) => stopped.get(pid) !== started)
    for (const { pid, started } of fresh) if (send(pid, 'SIGSTOP')) stopped.set(pid, started)
    if (fresh.length > 0) continue
    for (const { pid } of members) send(pid, 'SIGKILL')
    if (members.length === 0) return
    if (clock.monotonicMs() > untilMs) throw new Error(`${members.length} processes of ${folder} do not end`)
    await clock.sleep(pollMs)
  }
}

/** `pid started`, for a file; undefined when it has ended. */
export function identityOf(pid: number): string | undefined {
  const process = read(pid, '')
  return process && `${pid} ${process.started}`
}

export const isRunning = (identity: string): boolean => identityOf(Number(identity.split(' ')[0])) === identity

function membersOf(folder: string): Process[] {
  const all = readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? (read(Number(name), folder) ?? []) : []))
  const members = new Set(all.filter(({ isMarked }) => isMarked).map(({ pid }) => pid))
  for (let size = -1; size !== members.size; ) {
    size = members.size
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid)
  }
  members.delete(process.pid)
  return all.filter(({ pid }) => members.has(pid))
}

/** Undefined for one that has ended, also where nobody has collected it yet. */
function read(pid: number, folder: string): Process | undefined {
  try {
    // The name, in parentheses, can contain blanks and parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return {
      pid,
      parent: Number(fields[1]),
      started: fields[19] ?? '',
      isMarked: folder !== '' && hasMark(pid, folder),
    }
  } catch {
    return undefined
  }
}

function hasMark(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${machineMark}=${folder}`)
  } catch {
    // Of another user.
    return false
  }
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
