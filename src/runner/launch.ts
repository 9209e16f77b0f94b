/** Starts a supervisor, and hands a run over to it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterReading } from '../base/awake.ts'
import { systemClock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import type { RunFolder } from './state/run-folder.ts'

/** Words of the pipe between a supervisor and its starter. */
export const words = { locked: 'locked', go: 'go', begun: 'begun' } as const

/** A machine that is busy starts a process in seconds. */
const limitMs = 20_000

/** @returns the command line of this program: a file that Node runs, or an executable with all in it */
function ownCommand(): readonly string[] {
  const isExecutable = process.getBuiltinModule('node:sea').isSea()
  const program = isExecutable ? [] : [...process.execArgv, realpathSync(process.argv[1]!)]
  return [process.execPath, ...program]
}

/**
 * Starts the supervisor of a run, whose folder is on disk. To be called inside the gate.
 * - Before `go` it runs nothing, and it ends when this process does.
 * - After `go` it holds the lock, and needs nobody.
 *
 * @returns false when it did not come so far: then nothing of it runs
 */
export async function launch(folder: RunFolder, env: NodeJS.ProcessEnv): Promise<boolean> {
  const log = openSync(join(folder.path, 'log'), 'a')
  const [program, ...args] = ownCommand()
  let child: ChildProcess
  try {
    child = spawn(program!, [...args, 'runner', 'supervise', folder.uuid, String(folder.run)], {
      // A session of its own: the end of an SSH session is not its end.
      detached: true,
      cwd: '/',
      env,
      stdio: ['pipe', 'pipe', log],
    })
  } finally {
    closeSync(log)
  }
  const said = new Said(child)
  try {
    if (await handOver(child, said)) return true
  } catch (error) {
    await ended(child, said)
    throw error
  }
  return ended(child, said)
}

async function handOver(child: ChildProcess, said: Said): Promise<boolean> {
  await failpoint('runner.launch.forked')
  if ((await said.word()) !== words.locked) return false
  await failpoint('runner.launch.locked')
  child.stdin!.write(`${words.go}\n`)
  await failpoint('runner.launch.told')
  // Too late is no failure: it has the lock, and the run is on disk.
  if ((await said.word()) === undefined) return false
  child.unref()
  child.stdin!.destroy()
  child.stdout!.destroy()
  return true
}

async function ended(child: ChildProcess, said: Said): Promise<false> {
  child.kill('SIGKILL')
  await said.ended
  return false
}

/** Reads the lines of a new supervisor. */
class Said {
  readonly ended: Promise<void>
  #words: string[] = []
  #isEnded = false
  #heard: () => void = () => {}

  constructor(child: ChildProcess) {
    const lines = createInterface({ input: child.stdout! })
    lines.on('line', line => {
      this.#words.push(line)
      this.#heard()
    })
    child.stdin!.on('error', () => {})
    this.ended = new Promise(resolve => {
      const end = () => {
        this.#isEnded = true
        this.#heard()
        resolve()
      }
      child.on('exit', end)
      child.on('error', end)
    })
  }

  /** @returns undefined when it has ended, and 'late' after the limit */
  word(): Promise<string | undefined> {
    return new Promise(resolve => {
      const cancel = afterReading(systemClock, limitMs, () => resolve('late'))
      const look = () => {
        if (this.#words.length === 0 && !this.#isEnded) return
        cancel()
        resolve(this.#words.shift())
      }
      this.#heard = look
      look()
    })
  }
}
