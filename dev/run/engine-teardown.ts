/** What a Docker engine of a run's own leaves on the machine once its processes have ended. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { removeCgroups, removeIfEmpty } from '../process/cgroups.ts'
import { attempt } from '../process/command.ts'
import { type Lock, tryLock } from '../process/lock.ts'

/** Names are fixed: there is one engine to a machine. */
export const bridge = 'skylab1'
export const cgroup = 'skylab-engine'
/** Fixed in the engine; others keep theirs in it. */
export const settingsFolder = '/etc/docker'

export const engineFolder = (stateDir: string): string => join(stateDir, 'engine')

/** Null where another run has the engine of this machine. */
export const lockEngine = (): Promise<Lock | null> => tryLock('container engine')

/** Only for who holds the lock. */
export async function removeTraces(): Promise<void> {
  await attempt('ip', ['link', 'del', bridge])
  await removeCgroups(cgroup)
  removeIfEmpty(settingsFolder)
}

/** For a run that was killed. Where another run has an engine by now, the traces are its. */
export async function tearDownEngine(stateDir: string): Promise<void> {
  if (!existsSync(engineFolder(stateDir))) return
  const lock = await lockEngine()
  if (!lock) return
  await removeTraces()
  await lock.release()
}
