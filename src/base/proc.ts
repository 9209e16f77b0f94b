/** Processes as `/proc` shows them, and the marks in their environments. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Stat {
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In ticks since the computer began. Ids of processes come again, but not with the same birth. */
  readonly birth: string
  /** Nobody has collected it yet. It does no harm any more. */
  readonly hasEnded: boolean
  /** Has memory of its own: it is no thread of the kernel, and its first thread is not ending. */
  readonly isProgram: boolean
  /** Addresses at which its environment begins and ends; '0' while it starts another program, or where they are not ours to know. */
  readonly environment: readonly [begin: string, end: string]
}

/** Bits of a process's flags in Linux's sched.h: it ends; it is a thread of the kernel. */
const exiting = 0x4
const kernelThread = 0x200000

/** Ids of all processes. */
export const processIds = (): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter(pid => Number.isInteger(pid))

/** Undefined where there is none. */
export function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // A name may have spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [parent, group, session, flags] = [1, 2, 3, 6].map(index => Number(fields[index])) as [number, ...number[]]
    return {
      ...{ parent, group: group!, session: session!, birth: fields[19]! },
      hasEnded: (fields[0] === 'Z' || fields[0] === 'X') && !hasThreads(pid),
      isProgram: (flags! & (exiting | kernelThread)) === 0,
      environment: [fields[47]!, fields[48]!],
    }
  } catch {
    return undefined
  }
}

/** A killed process' first thread can be dead while others still hold its files, such as the port of an API server. */
const hasThreads = (pid: number) => readdirSync(`/proc/${pid}/task`).length > 1

const mostTries = 5

/**
 * Whether a process has an entry in its environment. While a process starts another program it has no environment, though the
 * next one may have the entry. To end all processes that have it, look again then. A process whose first thread has ended shows none.
 * @param entry `NAME=value`
 * @param before of the process, as it was just now
 */
export function whoseIs(pid: number, entry: string, before: Stat): 'ours' | 'other' | 'starting' {
  let known = before
  try {
    // Between two looks it may have started programs. It may also have taken its environment out of its memory.
    for (let tries = 0; tries < mostTries; tries++) {
      const text = readFileSync(`/proc/${pid}/environ`, 'utf8')
      if (text !== '') return text.split('\0').includes(entry) ? 'ours' : 'other'
      const after = statOf(pid)
      if (!after?.isProgram) return 'other'
      const [begin, end] = after.environment
      if (begin === '0') return 'starting'
      if (begin === end && known.environment[0] === begin && known.environment[1] === end) return 'other'
      known = after
    }
    return 'other'
  } catch {
    // The process is another user's, or it has ended.
    return 'other'
  }
}

/** What a look at all processes found. */
export interface Look<T> {
  /** Those searched for that run. */
  readonly found: readonly T[]
  /** Some process was starting another program, and may turn out to be one of these. */
  readonly isUnsure: boolean
}

/** For so long a look that is unsure is not believed. Strangers may start programs without an end. */
const unsureMs = 1_000

/** @param tookMs of all looks until now */
export const foundNothing = ({ found, isUnsure }: Look<unknown>, tookMs: number): boolean =>
  found.length === 0 && (!isUnsure || tookMs > unsureMs)

/** Looks again where a look finds nothing: one misses the child of a process that forks and ends meanwhile. */
export function lookTwice<T>(look: () => Look<T>): Look<T> {
  const first = look()
  if (first.found.length > 0) return first
  const { found, isUnsure } = look()
  return { found, isUnsure: first.isUnsure || isUnsure }
}
