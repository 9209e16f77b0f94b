import { mkdirSync, mkdtempSync, statfsSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Socket addresses hold 107 bytes, and containerd's socket is the longest path under a state folder. */
const maxStateFolderBytes = 70

const sharedMemory = '/dev/shm'

/** What is kept between runs, by version: programs that were built, durations. Made when missing. */
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

/** Where folders for one run are made: memory where there is room, since unpacking an image on a slow disk took 25 s. */
export function fastFolder(neededBytes: number): string {
  return freeBytes(sharedMemory) >= neededBytes ? sharedMemory : tmpdir()
}

/** Makes a new folder for what one run writes. Throws where its path would be too long for sockets. */
export function makeStateFolder(neededBytes: number): string {
  const folder = mkdtempSync(join(fastFolder(neededBytes), 'skylab-'))
  if (Buffer.byteLength(folder) > maxStateFolderBytes) {
    throw new Error(`the path is too long for sockets (set TMPDIR to a shorter one): ${folder}`)
  }
  return folder
}
