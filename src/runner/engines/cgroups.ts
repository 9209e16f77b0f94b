/**
 * Control groups of version 2: all processes of a container, whatever they do. Where none can be made, `processes.ts` looks for
 * them instead.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Version 2, alone or beside version 1. */
export const usualMounts = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']

export class Cgroup {
  readonly path: string
  readonly #beside: string

  /** @param path of its folder, as a run's folder has it */
  constructor(path: string) {
    this.path = path
    this.#beside = join(path, '..', 'supervisors')
  }

  /**
   * Makes the group of a run, and tries all that is needed later: this process must be able to leave it again.
   * @param mount where to; 'none' does without
   * @returns undefined where groups cannot be used
   */
  static make(mount: string | undefined, machineId: string, name: string): Cgroup | undefined {
    const root = mount ?? usualMounts.find(path => existsSync(join(path, 'cgroup.controllers')))
    if (root === undefined || root === 'none') return undefined
    const group = new Cgroup(join(root, groupOf(machineId), name))
    try {
      mkdirSync(group.#beside, { recursive: true })
      mkdirSync(group.path, { recursive: true })
      group.inside(() => {})
      return group
    } catch {
      group.remove()
      return undefined
    }
  }

  /** Does something as a member, such as to start a process, which stays one. This process also leaves its SSH session's group. */
  inside<T>(work: () => T): T {
    writeFileSync(join(this.path, 'cgroup.procs'), `${process.pid}`)
    try {
      return work()
    } finally {
      writeFileSync(join(this.#beside, 'cgroup.procs'), `${process.pid}`)
    }
  }

  /** All its processes. None of a group that is gone. */
  members(): number[] {
    try {
      const text = readFileSync(join(this.path, 'cgroup.procs'), 'utf8')
      // Linux says 0 for one that this process cannot see, and a signal to 0 is for its own group.
      return text
        .split('\n')
        .map(Number)
        .filter(pid => pid > 0)
    } catch {
      return []
    }
  }

  /** Sends SIGKILL to all at once: none can fork in time. Kernels before 5.14 cannot. */
  kill(): void {
    try {
      writeFileSync(join(this.path, 'cgroup.kill'), '1')
    } catch {
      // Then they are killed one by one.
    }
  }

  /** Removes an empty group. */
  remove(): void {
    try {
      rmdirSync(this.path)
    } catch {
      // Another process may have removed it. An empty group that is left costs nothing.
    }
  }
}

/** The name of the group of a machine, in which its runs have theirs. */
export const groupOf = (machineId: string): string => `skylab-${machineId}`
