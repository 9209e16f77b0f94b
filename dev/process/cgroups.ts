/** Removes control groups that containers leave behind: the kernel keeps them. */
import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'

const root = '/sys/fs/cgroup'
const triesMax = 50
const retryMs = 100

/** The groups of this name: under each controller, or under the one root of version 2. */
export function cgroupsNamed(name: string): string[] {
  return [root, ...readdirSync(root).map(entry => join(root, entry))].map(path => join(path, name)).filter(existsSync)
}

/** Removes groups with all subgroups. Only empty ones can go, and a killed process stays in its group for a moment. */
export async function removeCgroups(name: string): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    for (const group of cgroupsNamed(name)) removeTree(group)
    if (cgroupsNamed(name).length === 0) return
    await systemClock.sleep(retryMs)
  }
}

/** Removes folders, innermost first, but not files: those of a cgroup go with it. */
function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(folder, entry.name))
  }
  removeIfEmpty(folder)
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // It is not empty, or gone.
  }
}
