/**
 * Failpoints as tests and replicas share them: a folder. Its `arms.json` says where to strike. Each blow leaves a file,
 * made exclusively, so that only one of all replicas, in all their lives, strikes a blow.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * - `note`: leaves only the mark;
 * - `kill`: sends itself SIGKILL; `stop`: sends itself SIGSTOP, until a test sends SIGCONT;
 * - `hold`: waits there until the test releases it, while the rest of the process runs;
 * - `spin`: blocks the event loop for `ms`;
 * - `throw`: throws an unexpected error.
 */
export type Effect = 'note' | 'kill' | 'stop' | 'hold' | 'spin' | 'throw'

/** One armed failpoint. */
export interface ArmSpec {
  readonly id: string
  /** A failpoint's name, such as `lab.create.make.pod.after-act`; a final `*` matches any ending. */
  readonly point: string
  readonly effect: Effect
  /** Only operations of this user. */
  readonly user?: string
  /** Only this replica. */
  readonly replica?: string
  /** Number of blows over all replicas and lives; null: every time. */
  readonly times: number | null
  /** For `spin`. */
  readonly ms?: number
  /** For `hold`: all of one group are released together. */
  readonly group?: string
}

/** The file that a blow leaves. */
export interface Mark {
  readonly point: string
  readonly user?: string
  readonly replica: string
  readonly pid: number
  /** Wall clock. */
  readonly atMs: number
}

/** Environment variable of a replica: the folder. */
export const folderVariable = 'SKYLAB_FAILPOINTS'

export const armsFile = (folder: string): string => join(folder, 'arms.json')
export const markFile = (folder: string, id: string, blow: number): string => join(folder, `${id}.${blow}.mark`)
/** Exists once a held blow, or a group of them, is released. It says whether to stop first. */
export const goFile = (folder: string, id: string): string => join(folder, `${id}.go`)
export const stopFirst = 'stop'

/** Contains the offset of a replica's wall clock, in ms. */
export const skewFile = (folder: string, replica: string): string => join(folder, `${replica}.skew`)

export function readArms(folder: string): ArmSpec[] {
  try {
    return JSON.parse(readFileSync(armsFile(folder), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The landed blows of an arm, in order. */
export function readMarks(folder: string, id: string): Mark[] {
  const blows = readdirSync(folder)
    .map(name => name.split('.'))
    .filter(([of, , kind]) => of === id && kind === 'mark')
    .map(([, blow]) => Number(blow))
    .sort((a, b) => a - b)
  return blows.map(blow => JSON.parse(readFileSync(markFile(folder, id, blow), 'utf8')))
}

export function strikes({ point, user, replica }: ArmSpec, at: Pick<Mark, 'point' | 'user' | 'replica'>): boolean {
  const here = point.endsWith('*') ? at.point.startsWith(point.slice(0, -1)) : at.point === point
  return here && (user === undefined || user === at.user) && (replica === undefined || replica === at.replica)
}
