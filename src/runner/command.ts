/** `skylab runner …`. It loads this room and the words of the protocol, and nothing of the controller: it starts often. */
import type { Readable, Writable } from 'node:stream'
import { isRun, isUuid } from './state/names.ts'
import { isEngineName, type RunnerOptions, runnerOptions } from './state/options.ts'

export const runnerUsage = `usage: skylab runner attach [--engine docker|podman|process]
       skylab runner --list | --kill UUID
`

export interface RunnerInvocation {
  readonly env: NodeJS.ProcessEnv
  readonly version: string
  readonly input: Readable
  readonly output: Writable
  out(text: string): void
  err(text: string): void
}

/** @returns the exit code: 0, 1 when it failed, 2 for a wrong command line */
export async function runRunner(args: readonly string[], invocation: RunnerInvocation): Promise<number> {
  const { out, err, env } = invocation
  try {
    const [command, ...more] = args
    if (command === 'attach' && (more.length === 0 || (more.length === 2 && more[0] === '--engine')))
      return await runAttach(more[1], invocation)
    const [uuid, run, ...rest] = more
    if (command === 'supervise' && isUuid(uuid) && isRun(Number(run)) && rest.length === 0)
      return await (await import('./supervise.ts')).supervise(uuid, Number(run), runnerOptions(env))
    if (command === '--list' && more.length === 0) {
      const lines = await (await import('./human.ts')).listLines(runnerOptions(env))
      for (const line of lines) out(`${line}\n`)
      return 0
    }
    if (command === '--kill' && isUuid(uuid) && run === undefined)
      return await kill(uuid, runnerOptions(env), invocation)
    err(runnerUsage)
    return 2
  } catch (error) {
    err(`${(error as Error).message}\n`)
    return 1
  }
}

async function runAttach(engine: string | undefined, { env, ...invocation }: RunnerInvocation): Promise<number> {
  if (engine !== undefined && !isEngineName(engine)) {
    invocation.err(runnerUsage)
    return 2
  }
  // Supervisors read it there.
  const ofSupervisors = engine === undefined ? env : { ...env, SKYLAB_RUNNER_ENGINE: engine }
  const { attach } = await import('./attach.ts')
  await attach({ ...invocation, options: runnerOptions(ofSupervisors), env: ofSupervisors })
  return 0
}

async function kill(uuid: string, options: RunnerOptions, { out, err }: RunnerInvocation): Promise<number> {
  const done = await (await import('./human.ts')).killByHand(uuid, options)
  if (done === undefined) {
    err(`${uuid}: does not run here\n`)
    return 1
  }
  out(`${done}\n`)
  return 0
}
