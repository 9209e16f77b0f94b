import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { processIds, statOf } from '../../src/base/proc.ts'
import { searchPath } from './command.ts'

/** Variable in the environment of every process of a run and of their children; its value is the state folder. */
export const marker = 'SKYLAB_BOX'

/**
 * The same of machines that replicas start in the cloud `loopback`, which get nothing of their environment
 * (src/clouds/loopback/processes.ts). Its value is a folder below the state folder.
 */
export const machineMarker = 'SKYLAB_LOOPBACK_MACHINE'

const pollMs = 20

/** A process' identity: pids are reused, but not with the same start time. */
export interface ProcessId {
  pid: number
  /** In clock ticks since the boot, as the kernel prints it. */
  startTime: string
}

export interface ProcessSpec {
  /** Name of the record and of the log; unique in its state folder. */
  name: string
  command: string
  args: string[]
  stateDir: string
  /** Variables beside PATH, HOME and the marker; nothing else of this process' environment is passed on (no proxies). */
  env?: Record<string, string | undefined>
  cwd?: string
  /** The file to append its output to. Default: `<stateDir>/log/<name>.log`. */
  logFile?: string
}

export interface StartedProcess extends ProcessId {
  readonly name: string
  readonly logFile: string
  /** Resolves with the exit code, or with the signal's name, once it has ended. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** When a process began; null for an ended one, even if not yet collected (some inits take 2 s). */
export function startTimeOf(pid: number): string | null {
  const stat = statOf(pid)
  return stat && !stat.hasEnded ? stat.birth : null
}

export function isRunning(id: ProcessId): boolean {
  return startTimeOf(id.pid) === id.startTime
}

export function ownId(): ProcessId {
  return { pid: process.pid, startTime: startTimeOf(process.pid) ?? 'unknown' }
}

const recordFile = (stateDir: string, name: string) => join(stateDir, 'pids', name)

/** The record of a started process, which may have ended; null without a record. */
export function readRecord(stateDir: string, name: string): ProcessId | null {
  try {
    const [pid, startTime] = readFileSync(recordFile(stateDir, name), 'utf8').trim().split(' ')
    return pid && startTime ? { pid: Number(pid), startTime } : null
  } catch {
    return null
  }
}

function writeRecord(stateDir: string, name: string, id: ProcessId): void {
  writeFileSync(recordFile(stateDir, name), `${id.pid} ${id.startTime}\n`)
}

/** The names of all recorded processes of this state folder. */
export function recordedNames(stateDir: string): string[] {
  try {
    return readdirSync(join(stateDir, 'pids'))
  } catch {
    return []
  }
}

/** Starts a program in a session of its own, so that only this process gets a Ctrl-C of the terminal. */
export async function startProcess(spec: ProcessSpec): Promise<StartedProcess> {
  const logFile = spec.logFile ?? join(spec.stateDir, 'log', `${spec.name}.log`)
  // Not recursive: nothing may be started once the run's folder is gone.
  for (const folder of ['log', 'pids']) makeFolder(join(spec.stateDir, folder))
  const log = openSync(logFile, 'a')
  const child = spawn(spec.command, spec.args, {
    cwd: spec.cwd ?? spec.stateDir,
    env: { PATH: searchPath.join(delimiter), HOME: spec.stateDir, ...spec.env, [marker]: spec.stateDir },
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const ended = endOf(child)
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  child.unref()
  const id = { pid: child.pid!, startTime: startTimeOf(child.pid!) ?? 'ended' }
  writeRecord(spec.stateDir, spec.name, id)
  return { ...id, name: spec.name, logFile, ended }
}

function makeFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path)
}

function endOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
  return new Promise(resolve => child.once('exit', (code, signal) => resolve(code ?? signal ?? 0)))
}

/** Sends a signal to the process recorded under this name, and to no other; false when it has ended. */
export function signalProcess(stateDir: string, name: string, signal: NodeJS.Signals): boolean {
  const id = readRecord(stateDir, name)
  return id !== null && signalId(id, signal)
}

function signalId(id: ProcessId, signal: NodeJS.Signals): boolean {
  if (!isRunning(id)) return false
  try {
    process.kill(id.pid, signal)
    return true
  } catch {
    return false
  }
}

/** Waits for the end of a process, which need not be a child. False when it still runs after `limitMs`. */
export async function waitForEnd(id: ProcessId, limitMs: number): Promise<boolean> {
  const limit = systemClock.monotonicMs() + limitMs
  while (isRunning(id)) {
    if (systemClock.monotonicMs() > limit) return false
    await systemClock.sleep(pollMs)
  }
  return true
}

/** Asks a process to end, kills it after `graceMs` (0: at once), and removes its record. */
export async function stopProcess(stateDir: string, name: string, graceMs: number): Promise<void> {
  const id = readRecord(stateDir, name)
  if (!id) return
  if (graceMs > 0 && signalId(id, 'SIGTERM')) {
    // A halted process (SIGSTOP) would not get the request.
    signalId(id, 'SIGCONT')
    await waitForEnd(id, graceMs)
  }
  signalId(id, 'SIGKILL')
  await waitForEnd(id, 5000)
  rmSync(recordFile(stateDir, name), { force: true })
}

/** All processes with a marker, by its value; only those with a readable environment. */
export function markedProcesses(): Array<ProcessId & { stateDir: string }> {
  const found = []
  for (const pid of processIds()) {
    const stateDir = markerOf(pid)
    const startTime = startTimeOf(pid)
    if (stateDir && startTime) found.push({ pid, startTime, stateDir })
  }
  return found
}

function markerOf(pid: number): string | null {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
    const values = [marker, machineMarker].flatMap(name => {
      const found = variables.find(variable => variable.startsWith(`${name}=`))
      return found?.slice(name.length + 1) ?? []
    })
    return values[0] ?? null
  } catch {
    return null
  }
}

/** Kills processes and waits for their end. Resolves with those that still run. */
export async function killAll(ids: ProcessId[]): Promise<ProcessId[]> {
  for (const id of ids) signalId(id, 'SIGKILL')
  const ends = await Promise.all(ids.map(id => waitForEnd(id, 5000)))
  return ids.filter((_, index) => !ends[index])
}
