/** Profiles a Hub's processor time with py-spy, which samples from outside and uses processor time itself. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface Profiler {
  /** Resolves when the profile is written. */
  stop(): Promise<void>
}

const samplesPerSecond = 200

let count = 0

/** Starts a profile: stacks with their counts of samples, as for flame graphs, in `<folder>/<name>.<n>.txt`. */
export function profileHub(environment: string, pid: number, folder: string, name: string): Profiler {
  count += 1
  const file = join(folder, `${name}.${count}.txt`)
  const options = ['--pid', String(pid), '--rate', String(samplesPerSecond), '--format', 'raw', '--output', file]
  const child = spawn(join(environment, 'bin', 'py-spy'), ['record', ...options], { stdio: ['ignore', 2, 2] })
  const ended = once(child, 'exit')
  return {
    stop: async () => {
      child.kill('SIGINT')
      await ended
    },
  }
}
