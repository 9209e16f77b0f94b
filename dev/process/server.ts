/** Programs that keep running: started until they answer, and killed or halted by tests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from './api-client.ts'
import { isRunning, type ProcessSpec, readRecord, signalProcess, startProcess, stopProcess } from './process.ts'

/** The check whether a program answers. */
export interface Readiness {
  /** A rejection counts as false. */
  answers(): Promise<boolean>
  readonly limitMs: number
  readonly signal?: AbortSignal | undefined
}

/** Operations of tests on a server, wherever it runs. */
export interface ServerControl {
  /** Kills it, as a crash would. */
  kill(): Promise<void>
  /** Starts it again after `kill`, at the same address; resolves when it answers. */
  start(): Promise<void>
  /** `kill`, then `start`. */
  restart(): Promise<void>
  /** Halts it: connections stay open, and nothing answers. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** Starts a program; resolves when it answers. Throws with the end of its log when it ends instead. */
export async function startServer(spec: ProcessSpec, { answers, limitMs, signal }: Readiness): Promise<void> {
  const { stateDir, name } = spec
  await startProcess(spec)
  await waitUntil(answers, { what: name, limitMs, signal, check: () => assertRunning(stateDir, name) })
}

/** Control of a program that `startServer` has started. */
export function controlServer(spec: ProcessSpec, { answers, limitMs }: Readiness): ServerControl {
  const { stateDir, name } = spec
  const kill = () => stopProcess(stateDir, name, 0)
  const start = () => startServer(spec, { answers, limitMs })
  return {
    kill,
    start,
    restart: async () => {
      await kill()
      await start()
    },
    pause: async () => void signalProcess(stateDir, name, 'SIGSTOP'),
    resume: async () => void signalProcess(stateDir, name, 'SIGCONT'),
  }
}

/** The end of a program's log, for error messages. */
export function logTail(stateDir: string, name: string): string {
  try {
    return readFileSync(join(stateDir, 'log', `${name}.log`), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(-15)
      .join('\n')
  } catch {
    return ''
  }
}

/** Throws with the end of its log when a started program has ended. */
export function assertRunning(stateDir: string, name: string): void {
  const id = readRecord(stateDir, name)
  if (!id || !isRunning(id)) throw new Error(`${name} has ended:\n${logTail(stateDir, name)}`)
}
