import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { withLock } from '../process/lock.ts'
import { fastFolder } from '../process/paths.ts'
import { isRunning, ownId, type ProcessId } from '../process/process.ts'

/**
 * The runs of this user on this machine, one file each. A run is written down before it makes anything, and struck
 * out when all of it is gone: what stands there with an owner who has ended was left by a crash.
 */
export interface RunRecord {
  stateDir: string
  /** The script that answers for the run. */
  owner: ProcessId
  /** Identities of processes mean nothing after a reboot. */
  bootId: string
}

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** Where the records are. In memory, not in the cache folder: that may be emptied while something runs. */
export function runsFolder(): string {
  return join(fastFolder(1), `skylab-runs-${process.getuid?.() ?? 0}`)
}

function openRunsFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // The place is open to all users: a folder that somebody else made could send us to any path.
  if (lstatSync(folder).uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`)
}

const recordFile = (folder: string, stateDir: string) => join(folder, `${basename(stateDir)}.json`)

/** Writes down that this process answers for a state folder. */
export function registerRun(stateDir: string, folder = runsFolder()): void {
  openRunsFolder(folder)
  const record: RunRecord = { stateDir, owner: ownId(), bootId: bootId() }
  const part = `${recordFile(folder, stateDir)}.part`
  writeFileSync(part, JSON.stringify(record))
  renameSync(part, recordFile(folder, stateDir))
}

/** Strikes a run out, and takes the folder of records away with the last one. */
export function forgetRun(stateDir: string, folder = runsFolder()): void {
  rmSync(recordFile(folder, stateDir), { force: true })
  try {
    rmdirSync(folder)
  } catch {
    // Others are in it.
  }
}

/** All runs that are written down. */
export function listRuns(folder = runsFolder()): RunRecord[] {
  try {
    openRunsFolder(folder)
    return readdirSync(folder)
      .filter(name => name.endsWith('.json'))
      .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

export function isAbandoned(record: RunRecord): boolean {
  return record.bootId !== bootId() || !isRunning(record.owner)
}

/**
 * Takes down, one after another, what scripts that were killed have left. `takeDown` gets the state folder; the run is
 * struck out when it resolves with true.
 */
export async function sweepRuns(
  takeDown: (stateDir: string) => Promise<boolean>,
  folder = runsFolder(),
): Promise<void> {
  if (!listRuns(folder).some(isAbandoned)) return
  await withLock(`sweep ${folder}`, async () => {
    for (const record of listRuns(folder).filter(isAbandoned)) {
      // After a reboot the recorded pids are those of strangers.
      if (record.bootId !== bootId()) rmSync(join(record.stateDir, 'pids'), { recursive: true, force: true })
      if (await takeDown(record.stateDir)) forgetRun(record.stateDir, folder)
    }
  })
}
