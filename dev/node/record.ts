import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listMachine, nodeSysctls, readSysctl } from '../process/machine.ts'

/** The name of the bridge for pods. Fixed: a machine has one real node at most. */
export const bridge = 'skylab0'

/** The machine's state before a real node changed it; the teardown restores it. */
export interface NodeRecord {
  /** Values by name; unreadable ones are left out. */
  sysctls: Record<string, string>
  /** The lines of `listMachine`, without processes. */
  machine: string[]
}

const recordFile = (stateDir: string) => join(stateDir, 'node.json')

/** Records the machine's state. Must be called before anything is changed. */
export async function recordMachine(stateDir: string): Promise<void> {
  const sysctls = Object.fromEntries(
    nodeSysctls.flatMap(name => {
      const value = readSysctl(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  const record: NodeRecord = { sysctls, machine: await listMachine({ processes: false }) }
  writeFileSync(recordFile(stateDir), JSON.stringify(record))
}

/** For a node that was torn down while its run goes on. */
export function forgetMachine(stateDir: string): void {
  rmSync(recordFile(stateDir), { force: true })
}

/** Null when this state folder never had a real node. */
export function readNodeRecord(stateDir: string): NodeRecord | null {
  try {
    return JSON.parse(readFileSync(recordFile(stateDir), 'utf8'))
  } catch {
    return null
  }
}
