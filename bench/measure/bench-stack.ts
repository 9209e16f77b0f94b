/** Surroundings of a measurement: a new run with a stack on KWOK's nodes, and the bench's own programs as processes. */
import { Redis } from 'ioredis'
import type { Cluster } from '../../dev/cluster/types.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun, type Run } from '../../dev/run/run.ts'
import type { Tools } from '../../dev/setup/setup.ts'
import type { ConfigInput } from '../../dev/stack/config.ts'
import { type ReplicaPorts, startBalancer } from '../../dev/stack/haproxy.ts'
import { type Stack, setupStack, startStack } from '../../dev/stack/stack.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { User } from './lab-client.ts'
import { residentOf, type Usage, usageOf, usedBetween } from './usage.ts'
import { Worker } from './worker.ts'

export interface BenchContext {
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
}

export interface BenchStackOptions extends BenchContext {
  readonly users: number
  /** With 0 there is the cluster alone, for whatever the bench starts itself. */
  readonly replicas: number
  readonly kwok: number
  /** Addresses of the labs' pods. */
  readonly podRange?: string
  /** Options of Node for replicas and workers. */
  readonly nodeArgs?: readonly string[]
  readonly overrides?: ConfigInput
  /** A built program for the replicas. Default: this checkout's. */
  readonly program?: string | undefined
  /** Leads the replicas elsewhere than straight to the API server; resolves with the path of another kubeconfig. */
  readonly leadKubeconfig?: (kubeconfig: string, cluster: Cluster, worker: BenchStack['worker']) => Promise<string>
}

export interface BenchStack {
  readonly stack: Stack
  /** The folder of its run. */
  readonly stateDir: string
  /** As Redis' default user, with all rights. */
  readonly redis: Redis
  readonly users: readonly User[]
  readonly adminToken: string
  /** Starts a program of the bench. Under a name its processor time counts in `usage`, and it is profiled. */
  worker(file: URL, name?: string): Worker
  /** Starts a balancer before these ports; resolves with its URL. */
  balance(name: string, replicas: readonly ReplicaPorts[]): Promise<string>
  usage(): Usage
  /** Resident memory in MiB, by kind of process. */
  resident(): Readonly<Record<string, number>>
  /** Sends a signal to each replica and named worker. */
  signalAll(signal: NodeJS.Signals): void
}

const choice = { realNode: 'never', audit: true } as const

/** Installs what the stacks of a bench need, once for all of them. */
export const setupBench = (kwok: number, progress: Progress, signal: AbortSignal): Promise<Tools> =>
  setupStack({ ...choice, kwok }, progress, signal)

/** Starts a stack for this work alone, and takes it down afterwards, also when the signal interrupts the work. */
export async function withBenchStack<T>(
  options: BenchStackOptions,
  work: (bench: BenchStack) => Promise<T>,
): Promise<T> {
  const { signal, progress, nodeArgs = [] } = options
  const run = await openRun(progress)
  const interrupted = Promise.withResolvers<never>()
  interrupted.promise.catch(() => {})
  const interrupt = () => interrupted.reject(signal.reason)
  signal.addEventListener('abort', interrupt)
  const workers = new Workers(run.stateDir, nodeArgs)
  try {
    const stack = await openStack(options, run, workers)
    const redis = new Redis(stack.redis.url)
    try {
      const bench = benchStackOf(options, run, stack, redis, workers)
      // The balancer needs half a second to see that the replicas are ready.
      await settle(bench, signal)
      // Pending answers of workers end when those are stopped.
      return await Promise.race([work(bench), interrupted.promise])
    } finally {
      redis.disconnect()
      await Promise.all([workers.stop(), ...stack.replicas.map(replica => replica.stop(0))])
    }
  } finally {
    signal.removeEventListener('abort', interrupt)
    await run.close()
  }
}

class Workers {
  readonly named: Record<string, number> = {}
  readonly #stateDir: string
  readonly #nodeArgs: readonly string[]
  readonly #all: Worker[] = []

  constructor(stateDir: string, nodeArgs: readonly string[]) {
    this.#stateDir = stateDir
    this.#nodeArgs = nodeArgs
  }

  start(file: URL, name?: string): Worker {
    const worker = new Worker({ file, stateDir: this.#stateDir, nodeArgs: this.#nodeArgs })
    this.#all.push(worker)
    if (name !== undefined) this.named[name] = worker.pid
    return worker
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(worker => worker.stop()))
  }
}

/** One of the users is the administrator. */
function openStack(options: BenchStackOptions, { stateDir }: Run, workers: Workers): Promise<Stack> {
  const { users, progress, leadKubeconfig, ...others } = options
  const quiet: Progress = {
    part: (_, start) => start(),
    say: text => progress.say(text),
    done: () => [],
    summary: () => {},
  }
  return startStack({
    ...{ ...others, ...choice, stateDir, users: users + 1, progress: quiet },
    leadKubeconfig:
      leadKubeconfig && ((file, cluster) => leadKubeconfig(file, cluster, (...args) => workers.start(...args))),
  })
}

function benchStackOf(
  { tools }: BenchStackOptions,
  { stateDir }: Run,
  stack: Stack,
  redis: Redis,
  workers: Workers,
): BenchStack {
  const { admin, ...users } = stack.users
  return {
    ...{ stack, stateDir, redis, adminToken: admin!.token },
    users: Object.entries(users).map(([name, { token }]) => ({ name, token })),
    worker: (file, name) => workers.start(file, name),
    balance: async (name, replicas) =>
      (await startBalancer({ stateDir, program: tools.program('haproxy'), replicas, name })).url,
    usage: () => usageOf(stack, stateDir, workers.named),
    resident: () => residentOf(stack, stateDir),
    signalAll: signal => {
      const replicas = stack.replicas.map(replica => replica.pid)
      for (const pid of [...replicas, ...Object.values(workers.named)]) process.kill(pid, signal)
    },
  }
}

/** Adds a user to Redis, by a line of an ACL file. */
export async function addUser(redis: Redis, line: string): Promise<void> {
  await redis.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
}

const settleLimitMs = 20_000
const windowMs = 1000
/** Seconds of processor time in a window, of all processes together, when nothing but watches and timers is left. */
const idleSeconds = 0.2

/** Waits until what earlier work set off has ended, by the processor time of all processes. */
export async function settle({ usage }: Pick<BenchStack, 'usage'>, signal: AbortSignal): Promise<void> {
  const limitMs = systemClock.monotonicMs() + settleLimitMs
  for (let before = usage(); systemClock.monotonicMs() < limitMs; ) {
    await systemClock.sleep(windowMs, signal)
    const now = usage()
    const used = Object.values(usedBetween(before, now)).reduce((sum, seconds) => sum + seconds, 0)
    if (used < idleSeconds) return
    before = now
  }
}
