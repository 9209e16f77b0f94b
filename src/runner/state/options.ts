/** The options of a runner, from its environment. Test machines and the driver `loopback` set these variables; others need none. */

export const engineNames = ['docker', 'podman', 'process'] as const
export type EngineName = (typeof engineNames)[number]
export const isEngineName = (text: string | undefined): text is EngineName =>
  (engineNames as readonly (string | undefined)[]).includes(text)

export interface RunnerOptions {
  /** The folder of everything that the runner stores. */
  readonly dir: string
  readonly secretFile: string
  readonly engine: EngineName
  /** The output of one run that waits on disk. More is dropped, and counted. */
  readonly spoolBytes: number
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number
  readonly beatMs: number
  /** For the pull of one image. */
  readonly pullMs: number
  /** Where control groups are mounted; 'none' does without. Undefined: it is looked for. */
  readonly cgroups: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** @throws for a number or an engine that cannot be */
export function runnerOptions(env: Environment): RunnerOptions {
  const engine = env.SKYLAB_RUNNER_ENGINE ?? 'docker'
  if (!isEngineName(engine)) throw new Error(`SKYLAB_RUNNER_ENGINE: not one of ${engineNames.join(', ')}`)
  return {
    dir: env.SKYLAB_RUNNER_DIR ?? '/var/lib/skylab',
    secretFile: env.SKYLAB_INSTANCE_SECRET_FILE ?? '/var/run/arvados-instance-secret',
    engine,
    spoolBytes: count(env, 'SKYLAB_RUNNER_SPOOL_BYTES', 64 * 1024 * 1024),
    graceMs: count(env, 'SKYLAB_RUNNER_GRACE_MS', 10_000),
    beatMs: count(env, 'SKYLAB_RUNNER_BEAT_MS', 3000),
    pullMs: count(env, 'SKYLAB_RUNNER_PULL_MS', 30 * 60_000),
    cgroups: env.SKYLAB_RUNNER_CGROUPS,
  }
}

function count(env: Environment, name: string, otherwise: number): number {
  const text = env[name]
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,12}$/.test(text)) throw new Error(`${name}: not a whole number above 0`)
  return Number(text)
}
