import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listMachine, nodeSysctls, readSysctl } from '../process/machine.ts'

/** The name of the bridge that pods hang on. Fixed: there can be one real node to a machine. */
export const bridge = 'skylab0'

/** How the machine was before a real node changed it: what its teardown goes by. */
export interface NodeRecord {
  /** By name; those that could not be read are left out. */
  sysctls: Record<string, string>
  /** What there was, without processes: one line each, see `listMachine`. */
  machine: string[]
}

const recordFile = (stateDir: string) => join(stateDir, 'node.json')

/** Writes down how the machine is. Must be called before anything is changed. */
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

/** Null where this state folder never had a real node. */
export function readNodeRecord(stateDir: string): NodeRecord | null {
  try {
    return JSON.parse(readFileSync(recordFile(stateDir), 'utf8'))
  } catch {
    return null
  }
}
