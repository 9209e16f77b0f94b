import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { withLock } from '../process/lock.ts'
import { fastFolder } from '../process/paths.ts'
import { isRunning, ownId, type ProcessId } from '../process/process.ts'

/**
 * The records of this user's runs on this machine, one file each. A run is recorded before it makes anything; the record is
 * removed after everything else. So a crash left every run whose owner has ended.
 */
export interface RunRecord {
  stateDir: string
  /** The script that runs it. */
  owner: ProcessId
  /** The boot: after a reboot process identities mean nothing. */
  bootId: string
}

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** The folder of records. In memory, not in the cache folder, which may be emptied while something runs. */
export function runsFolder(): string {
  return join(fastFolder(1), `skylab-runs-${process.getuid?.() ?? 0}`)
}

function openRunsFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // All users can write there: a folder made by another user could redirect us to any path.
  if (lstatSync(folder).uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`)
}

const recordFile = (folder: string, stateDir: string) => join(folder, `${basename(stateDir)}.json`)

/** Records that this process owns a state folder. */
export function registerRun(stateDir: string, folder = runsFolder()): void {
  openRunsFolder(folder)
  const record: RunRecord = { stateDir, owner: ownId(), bootId: bootId() }
  const part = `${recordFile(folder, stateDir)}.part`
  writeFileSync(part, JSON.stringify(record))
  renameSync(part, recordFile(folder, stateDir))
}

/** Removes a run's record, and the folder of records with the last one. */
export function forgetRun(stateDir: string, folder = runsFolder()): void {
  rmSync(recordFile(folder, stateDir), { force: true })
  try {
    rmdirSync(folder)
  } catch {
    // It still has records of others.
  }
}

/** All recorded runs. */
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
 * Takes down the runs of killed scripts, one after another. `takeDown` gets the state folder; the record is removed when it
 * resolves with true.
 */
export async function sweepRuns(
  takeDown: (stateDir: string) => Promise<boolean>,
  folder = runsFolder(),
): Promise<void> {
  if (!listRuns(folder).some(isAbandoned)) return
  await withLock(`sweep ${folder}`, async () => {
    for (const record of listRuns(folder).filter(isAbandoned)) {
      // After a reboot the recorded pids belong to other processes.
      if (record.bootId !== bootId()) rmSync(join(record.stateDir, 'pids'), { recursive: true, force: true })
      if (await takeDown(record.stateDir)) forgetRun(record.stateDir, folder)
    }
  })
}
