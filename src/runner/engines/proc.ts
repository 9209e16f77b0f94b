/** Processes as `/proc` shows them, and the marks in their environments. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Stat {
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In ticks since the computer began. Ids of processes come again, but not with the same birth. */
  readonly birth: string
  /** Has memory of its own: it is no thread of the kernel, and does not end. */
  readonly isProgram: boolean
  /** Where its environment begins; '0' while it starts another program. */
  readonly environment: string
}

/** Bits of a process's flags in Linux's sched.h: it ends; it is a thread of the kernel. */
const exiting = 0x4
const kernelThread = 0x200000

/** Ids of all processes. */
export const processIds = (): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter(pid => Number.isInteger(pid))

/** Undefined for one that has ended, also where nobody has collected it yet. */
export function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // A name may have spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    const [parent, group, session, flags] = [1, 2, 3, 6].map(index => Number(fields[index])) as [number, ...number[]]
    const isProgram = (flags! & (exiting | kernelThread)) === 0
    return { parent, group: group!, session: session!, birth: fields[19]!, isProgram, environment: fields[47]! }
  } catch {
    return undefined
  }
}

/**
 * Whether a process has an entry in its environment. While a process starts another program it has no environment, though the
 * next one may have the entry. To end all processes that have it, look again then.
 * @param entry `NAME=value`
 */
export function markOf(pid: number, entry: string): 'ours' | 'other' | 'starting' {
  try {
    const before = statOf(pid)
    const text = readFileSync(`/proc/${pid}/environ`, 'utf8')
    if (text !== '') return text.split('\0').includes(entry) ? 'ours' : 'other'
    const after = statOf(pid)
    // An environment may be empty. It was read where the process had the same one before and after.
    const isRead = after?.environment !== '0' && before?.environment === after?.environment
    return after?.isProgram && !isRead ? 'starting' : 'other'
  } catch {
    // Of another user, or it has ended.
    return 'other'
  }
}

/** What a look at all processes found. */
export interface Look<T> {
  /** Those searched for that run. What has ended and was not collected yet does no harm. */
  readonly found: readonly T[]
  /** Some process was starting another program, and may turn out to be one of these. */
  readonly isUnsure: boolean
}

/** Looks again where a look finds nothing: one misses the child of a process that forks and ends meanwhile. */
export function lookTwice<T>(look: () => Look<T>): Look<T> {
  const first = look()
  if (first.found.length > 0) return first
  const { found, isUnsure } = look()
  return { found, isUnsure: first.isUnsure || isUnsure }
}
