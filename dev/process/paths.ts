import { mkdirSync, mkdtempSync, statfsSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Socket addresses hold 107 bytes; containerd's socket has the longest path below a state folder. */
const maxStateFolderBytes = 70

const sharedMemory = '/dev/shm'

/** The folder kept between runs, for built programs by version and for durations. Created when missing. */
export function cacheFolder(): string {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'skylab')
  mkdirSync(folder, { recursive: true })
  return folder
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

/** The parent of a run's folder: in memory if there is room, since unpacking an image on a slow disk took 25 s. */
export function fastFolder(neededBytes: number): string {
  return freeBytes(sharedMemory) >= neededBytes ? sharedMemory : tmpdir()
}

/** Makes a new folder for one run. Throws when its path would be too long for sockets. */
export function makeStateFolder(neededBytes: number): string {
  const folder = mkdtempSync(join(fastFolder(neededBytes), 'skylab-'))
  if (Buffer.byteLength(folder) > maxStateFolderBytes) {
    throw new Error(`the path is too long for sockets (set TMPDIR to a shorter one): ${folder}`)
  }
  return folder
}
