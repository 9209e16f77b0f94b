/**
 * jupyterhub-idle-culler beside our look, at the same real servers of a real JupyterHub, whose browsers are closed.
 * docs/bench.md explains the result.
 *   npm run bench -- culler [--hub 6] [--timeout 120]
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProcess } from '../../dev/process/process.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { type HubVersion, hubVersions } from '../../dev/setup/jupyterhub.ts'
import { pythonEnvironment } from '../../dev/setup/python.ts'
import { systemClock } from '../../src/base/clock.ts'
import { probe } from '../../src/idle/looks/probe.ts'
import { Jupyter } from '../../test/kit/idle/jupyter.ts'
import { type LocalHub, type SingleUser, startLocalHub } from '../../test/kit/idle/single-user.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { round } from '../measure/statistics.ts'

const defaults = { hub: 6, timeout: 120 }
const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url))

/** How often the culler, the servers' reports to the Hub, and our looks come. JupyterHub's reports come each 300 s. */
const everySeconds = 10
const marginSeconds = 60
const lookMs = 10_000
const pollMs = 1000

/** What each user's kernel runs, and whether it is done before its browser is closed. */
const users = {
  silent: { code: 'import time; time.sleep(3600)', isDone: false },
  printing: { code: 'import time\nfor n in range(3600): print(n, flush=True); time.sleep(1)', isDone: false },
  idle: { code: 'print(1)', isDone: true },
} as const

type User = keyof typeof users

interface Watched {
  readonly server: SingleUser
  /** When its browser was closed. */
  readonly closedMs: number
  stoppedMs: number | undefined
  /** The last look that it answered. */
  last: { readonly atMs: number; readonly busy: boolean; readonly ageMs: number | undefined } | undefined
}

export async function cullerBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const version = hubVersions.find(each => each === options.hub)
  if (version === undefined) throw new TypeError(`--hub: one of ${hubVersions.join(', ')}`)
  const conditions = { ...options, culler: 'jupyterhub-idle-culler 2.0.0', every_s: everySeconds, ...machine() }
  const environment = await pythonEnvironment({ name: 'idle-culler', requirements, progress, signal })
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const figures = await cull({ version, timeout: options.timeout, environment, stateDir, progress, signal })
    return { bench: 'culler', conditions, ...figures }
  } finally {
    await run.close()
  }
}

interface Site {
  readonly version: HubVersion
  readonly timeout: number
  readonly environment: string
  readonly stateDir: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

async function cull({ version, timeout, environment, stateDir, progress, signal }: Site): Promise<object> {
  const local = await progress.part(`JupyterHub ${version}`, () =>
    startLocalHub({ version, stateDir, activitySeconds: everySeconds }),
  )
  const watched = {} as Record<User, Watched>
  for (const user of Object.keys(users) as User[]) watched[user] = await begin(local, user)
  await startProcess({
    name: 'idle-culler',
    command: join(environment, 'bin', 'python'),
    args: [
      ...['-m', 'jupyterhub_idle_culler', `--url=${local.hub.hubUrl}/hub/api`],
      ...[`--timeout=${timeout}`, `--cull-every=${everySeconds}`],
    ],
    env: { JUPYTERHUB_API_TOKEN: local.adminToken },
    stateDir,
  })
  await progress.part('closed browsers', () => watch(local, watched, timeout, signal))
  return { users: Object.fromEntries(Object.entries(watched).map(([user, each]) => [user, figuresOf(each)])) }
}

/** Its kernel runs, and its browser is closed. */
async function begin(local: LocalHub, user: User): Promise<Watched> {
  const { code, isDone } = users[user]
  const server = await local.server(user)
  const jupyter = new Jupyter(server)
  const kernel = await jupyter.startKernel()
  await (isDone ? jupyter.run(kernel, code) : jupyter.begin(kernel, code))
  return { server, closedMs: systemClock.monotonicMs(), stoppedMs: undefined, last: undefined }
}

/** Until two are stopped, or long enough to see that they are not. */
async function watch(
  local: LocalHub,
  watched: Readonly<Record<User, Watched>>,
  timeout: number,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = systemClock.monotonicMs() + (timeout + marginSeconds) * 1000
  while (systemClock.monotonicMs() < untilMs) {
    await Promise.all(Object.values(watched).map(each => watchOne(local, each, signal)))
    await systemClock.sleep(pollMs, signal)
  }
}

async function watchOne(local: LocalHub, one: Watched, signal: AbortSignal): Promise<void> {
  const { server } = one
  if (one.stoppedMs !== undefined) return
  const { servers } = await local.user(server.username)
  if (servers['']?.ready !== true) {
    one.stoppedMs = systemClock.monotonicMs()
    return
  }
  const sources = ['kernels', 'terminals'] as const
  const target = { ...server, credential: server.token }
  const look = await probe(systemClock, target, { sources, timeoutMs: lookMs, signal })
  if (look.kind === 'seen') one.last = { atMs: systemClock.monotonicMs(), busy: look.busy, ageMs: look.ageMs }
}

function figuresOf({ closedMs, stoppedMs, last }: Watched): object {
  const seconds = (ms: number | undefined) => (ms === undefined ? null : round(ms / 1000, 0))
  return {
    stopped_after_s: seconds(stoppedMs === undefined ? undefined : stoppedMs - closedMs),
    last_look: last && {
      busy: last.busy,
      age_s: seconds(last.ageMs),
      before_stop_s: stoppedMs === undefined ? null : round((stoppedMs - last.atMs) / 1000, 1),
    },
  }
}
