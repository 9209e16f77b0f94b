/**
 * What tests and the replicas they break share of failpoints: a folder. `arms.json` in it says where to strike; each
 * blow leaves a file, made exclusively, so that of all replicas and of all their lives only one strikes a blow.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * - `note`: nothing but the mark;
 * - `kill`: SIGKILL to itself; `stop`: SIGSTOP to itself, until somebody sends SIGCONT;
 * - `hold`: waits there until the test releases it, while the rest of the process goes on;
 * - `spin`: blocks the event loop for `ms`;
 * - `throw`: an error that nobody foresaw.
 */
export type Effect = 'note' | 'kill' | 'stop' | 'hold' | 'spin' | 'throw'

/** One place to strike. */
export interface ArmSpec {
  readonly id: string
  /** A failpoint's name, such as `lab.create.make.pod.after-act`; a `*` at its end stands for anything. */
  readonly point: string
  readonly effect: Effect
  /** Only operations of this user. */
  readonly user?: string
  /** Only this replica. */
  readonly replica?: string
  /** How many blows there are, over all replicas and lives; null for as many as there are occasions. */
  readonly times: number | null
  /** Of `spin`. */
  readonly ms?: number
  /** Of `hold`: all of one group are released together. */
  readonly group?: string
}

/** What a blow leaves behind. */
export interface Mark {
  readonly point: string
  readonly user?: string
  readonly replica: string
  readonly pid: number
  /** Wall clock. */
  readonly atMs: number
}

/** In the environment of a replica: the folder. */
export const folderVariable = 'SKYLAB_FAILPOINTS'

export const armsFile = (folder: string): string => join(folder, 'arms.json')
export const markFile = (folder: string, id: string, blow: number): string => join(folder, `${id}.${blow}.mark`)
/** Stands there once a blow that holds is released, or a group of them; says whether to stop before that. */
export const goFile = (folder: string, id: string): string => join(folder, `${id}.go`)
export const stopFirst = 'stop'

/** Says by how many ms a replica's wall clock is off. */
export const skewFile = (folder: string, replica: string): string => join(folder, `${replica}.skew`)

export function readArms(folder: string): ArmSpec[] {
  try {
    return JSON.parse(readFileSync(armsFile(folder), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The blows of an arm that have landed, in their order. */
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
