/** Ends the control groups of a machine of this computer: one that ends in a cloud takes its own along. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../base/clock.ts'
import { Cgroup, groupOf, usualMounts } from './cgroups.ts'
import { signalAll } from './processes.ts'

const limitMs = 1_000
const againMs = 10

/**
 * Ends what is left in the groups of a machine that has ended, and removes them. A group stays while a killed process with many
 * threads is ending, so this is tried again for a second. An empty group that is left costs nothing.
 */
export async function endGroups(machineId: string, clock: Clock = systemClock): Promise<void> {
  const paths = usualMounts.map(mount => join(mount, groupOf(machineId)))
  const untilMs = clock.monotonicMs() + limitMs
  for (;;) {
    for (const path of paths) endTree(path)
    if (!paths.some(existsSync) || clock.monotonicMs() > untilMs) return
    await clock.sleep(againMs)
  }
}

/** Innermost first: a container may have made groups in its own. */
function endTree(path: string): void {
  for (const name of foldersIn(path)) endTree(join(path, name))
  const group = new Cgroup(path)
  const members = group.members()
  // This process has left its session's group for one of these where it has made one.
  if (members.length > 0 && !members.includes(process.pid)) {
    group.kill()
    signalAll(members, 'SIGKILL')
  }
  group.remove()
}

/** None of a folder that another process has removed. */
function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name)
  } catch {
    return []
  }
}
