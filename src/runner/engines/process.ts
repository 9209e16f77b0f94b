/** The engine `process`: the command as processes of the machine, without an image and without isolation. */
import { type ChildProcessByStdio, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Started } from '../state/run-folder.ts'
import { Cgroup } from './cgroups.ts'
import {
  destroyMs,
  type Engine,
  type EngineContext,
  exitCodeOf,
  type InsideWish,
  identity,
  type Reached,
  type Running,
} from './engine.ts'
import { makeFolders } from './folders.ts'
import { birthOf, killAll, look, markVariable, signalAll, type Traces } from './processes.ts'
import { inTerminal } from './terminal.ts'

type Spawned = ChildProcessByStdio<Writable | null, Readable, Readable>

const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const markOf = (machineId: string, uuid: string, run: number): string => `${machineId}/${uuid}.${run}`

export class ProcessEngine implements Engine {
  readonly #context: EngineContext
  #process: Running['process'] | undefined

  constructor(context: EngineContext) {
    this.#context = context
  }

  async start(): Promise<Running> {
    const { warrant } = this.#context
    const [command = '', ...args] = warrant.spec.command
    const child = this.#spawn(command, args, this.#environment(), 'ignore')
    const done = once(child, 'exit').then(([code, signal]) => ({
      exitCode: exitCodeOf(code, constants.signals[signal as NodeJS.Signals]),
    }))
    // `once` rejects with the error of a command that is not there.
    await Promise.race([once(child, 'spawn'), done])
    const pid = child.pid!
    this.#process = { pid, birth: birthOf(pid) }
    return { stdout: child.stdout, stderr: child.stderr, process: this.#process, done }
  }

  async terminate(): Promise<void> {
    signalAll(look(this.#traces).found, 'SIGTERM')
  }

  destroy(): Promise<boolean> {
    return killAll(this.#traces, this.#context.clock, destroyMs)
  }

  async discard(started: Started | undefined): Promise<boolean> {
    this.#process = started
    return this.destroy()
  }

  /** Its network is the machine's. */
  async reach(port: number): Promise<Reached> {
    return { host: '127.0.0.1', port }
  }

  inside({ command, environment, size }: InsideWish): ChildProcessWithoutNullStreams {
    const [program = '', ...args] = size ? inTerminal(command, size) : command
    return this.#spawn(
      program,
      args,
      { ...this.#environment(), ...environment },
      'pipe',
    ) as ChildProcessWithoutNullStreams
  }

  async clean(): Promise<void> {
    const { cgroup } = this.#context.begun
    if (cgroup !== undefined) new Cgroup(cgroup).remove()
  }

  /** In the run's control group, if it has one, and with its mark. */
  #spawn(command: string, args: readonly string[], env: NodeJS.ProcessEnv, stdin: 'ignore' | 'pipe'): Spawned {
    const { cgroup } = this.#context.begun
    const options = { cwd: this.#folders(), env, detached: true }
    const begin = () => spawn(command, args, { ...options, stdio: [stdin, 'pipe', 'pipe'] }) as Spawned
    return cgroup === undefined ? begin() : new Cgroup(cgroup).inside(begin)
  }

  get #traces(): Traces {
    const { machineId, warrant, begun } = this.#context
    return { mark: markOf(machineId, warrant.uuid, warrant.run), begun, started: this.#process }
  }

  #environment(): Readonly<Record<string, string>> {
    const { machineId, warrant } = this.#context
    return {
      PATH: usualPath,
      ...warrant.spec.environment,
      ...identity(warrant),
      [markVariable]: markOf(machineId, warrant.uuid, warrant.run),
    }
  }

  /** @returns the folder to begin in */
  #folders(): string {
    const { warrant, folder } = this.#context
    const { cwd, mounts } = warrant.spec
    const first = cwd === '' || cwd === '.' ? join(folder.path, 'work') : cwd
    for (const path of [first, ...Object.keys(mounts)]) makeFolders(path)
    return first
  }
}
