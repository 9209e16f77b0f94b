/** Removes what a run's Docker engine leaves on the machine after its processes have ended. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { removeCgroups, removeIfEmpty } from '../process/cgroups.ts'
import { attempt } from '../process/command.ts'
import { type Lock, tryLock } from '../process/lock.ts'

/** Fixed names: a machine has one engine of a run at most. */
export const bridge = 'skylab1'
export const cgroup = 'skylab-engine'
/** Fixed in the engine; other engines keep their settings there. */
export const settingsFolder = '/etc/docker'

export const engineFolder = (stateDir: string): string => join(stateDir, 'engine')

/** Null when another run has the engine of this machine. */
export const lockEngine = (): Promise<Lock | null> => tryLock('container engine')

/** Call only with the lock. */
export async function removeTraces(): Promise<void> {
  await attempt('ip', ['link', 'del', bridge])
  await removeCgroups(cgroup)
  removeIfEmpty(settingsFolder)
}

/** For a killed run. When another run has the engine by now, the traces belong to it. */
export async function tearDownEngine(stateDir: string): Promise<void> {
  if (!existsSync(engineFolder(stateDir))) return
  const lock = await lockEngine()
  if (!lock) return
  await removeTraces()
  await lock.release()
}
