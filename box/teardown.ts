import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { killAll, markedProcesses, recordedNames, stopProcess } from './process.ts'

/** Where a run keeps its cluster: a folder of its own, so that the cluster can be ended alone. */
export const clusterFolder = (stateDir: string): string => join(stateDir, 'cluster')

/**
 * Ends all that was started with a state folder and removes the folder. It goes by what is recorded there, so it does
 * for another script what that script could not do itself any more. Resolves with what is on the machine now and was
 * not before, or the other way round.
 */
export async function takeDown(stateDir: string): Promise<string[]> {
  if (!existsSync(stateDir)) return []
  const differences = await takeDown(clusterFolder(stateDir))
  await Promise.all(recordedNames(stateDir).map(name => stopProcess(stateDir, name, 0)))
  await killAll(markedProcesses().filter(process => isWithin(process.stateDir, stateDir)))
  rmSync(stateDir, { recursive: true, force: true })
  return differences
}

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)
