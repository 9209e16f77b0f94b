import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readNodeRecord } from '../node/record.ts'
import { tearDownNode } from '../node/teardown.ts'
import { mountPoints } from '../process/machine.ts'
import { killAll, markedProcesses, recordedNames, stopProcess } from '../process/process.ts'
import { tearDownEngine } from './engine-teardown.ts'

/** The folder for a run's cluster, so that the cluster can be ended alone. */
export const clusterFolder = (stateDir: string): string => join(stateDir, 'cluster')

/**
 * Ends everything that was started with a state folder, and removes the folder. It relies on records only, so it works for
 * a killed script too. Resolves with the differences between the machine before and now. Throws when something stays
 * mounted in the folder.
 */
export async function takeDown(stateDir: string): Promise<string[]> {
  if (!existsSync(stateDir)) return []
  const differences = await takeDown(clusterFolder(stateDir))
  await endProcesses(stateDir)
  await tearDownEngine(stateDir)
  const record = readNodeRecord(stateDir)
  if (record) differences.push(...(await tearDownNode(stateDir, record)))
  // Removing a folder would enter mounts, and a volume can be anything.
  const mounted = mountPoints().filter(path => isWithin(path, stateDir))
  if (mounted.length > 0) throw new Error(`still mounted: ${mounted.join(' ')}`)
  rmSync(stateDir, { recursive: true, force: true })
  return differences
}

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)

/** Lists again after killing: a process may have started another one between the list and its end. */
async function endProcesses(stateDir: string): Promise<void> {
  await Promise.all(recordedNames(stateDir).map(name => stopProcess(stateDir, name, 0)))
  for (;;) {
    const left = markedProcesses().filter(process => isWithin(process.stateDir, stateDir))
    if (left.length === 0) return
    const survivors = await killAll(left)
    if (survivors.length > 0) throw new Error(`processes that cannot be ended: ${survivors.map(({ pid }) => pid)}`)
  }
}
