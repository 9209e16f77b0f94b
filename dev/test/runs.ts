/** Surroundings of test suites: a folder, a cluster or the machine's one real node; each ends with its suite. */
import { cpSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { motoEnvironment } from '../cloud/moto.ts'
import { vmImage } from '../cloud/vm/image.ts'
import type { ClusterChoice } from '../cluster/types.ts'
import { keepRights } from '../kube/rights.ts'
import { waitUntil } from '../process/api-client.ts'
import type { Progress } from '../process/progress.ts'
import { lockRealNode } from '../run/claim.ts'
import { openRun } from '../run/run.ts'
import { type Need, setup, type Tools } from '../setup/setup.ts'
import { setupStack } from '../stack/stack.ts'
import { startTestCluster, type TestCluster } from './cluster.ts'
import { setupPython } from './python.ts'

/** Longer than the tests of another run that has the real node. */
const realNodeLimitMs = 180_000

export interface RunContext {
  readonly choice: Pick<ClusterChoice, 'kubeconfig' | 'context' | 'containers'>
  /** The image for each test's Redis; without one Redis is a process. */
  readonly redisImage?: string | undefined
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
  /** The folder for logs of fleets whose tests failed. */
  readonly logsFolder: string
  /** The name for storing which rights replicas used on its clusters; without one they are not stored. */
  readonly rightsName?: string | undefined
}

/** Installs everything first, so that the suites' durations contain no installation. */
export async function setupSuites(
  choice: RunContext['choice'],
  realNode: boolean,
  progress: Progress,
  signal: AbortSignal,
): Promise<Tools> {
  const onNode: Need[] = realNode ? ['policies', 'names'] : []
  const servers: Need[] = ['postgres', 'prometheus', 'ingress']
  const needs: Need[] = ['clocks', 'curl', 'browser', 'containers', ...servers, ...cloudNeeds, ...onNode]
  await setup(needs, progress, signal)
  await motoEnvironment(progress, signal)
  if (realNode) await setupPython(progress, signal)
  return setupStack({ ...choice, realNode: realNode ? 'auto' : 'never', kwok: 1, audit: true }, progress, signal)
}

/** For the test cloud, and for tests that log in by SSH. */
const cloudNeeds: readonly Need[] = ['python', 'machines']

/** Installs what unit tests start. */
export async function setupUnit(progress: Progress, signal: AbortSignal): Promise<Tools> {
  const tools = await setup(['redis', 'postgres', 'balancer', ...cloudNeeds], progress, signal)
  await motoEnvironment(progress, signal)
  return tools
}

/** Installs what real machines need, and makes their disk. */
export async function setupVms(progress: Progress, signal: AbortSignal): Promise<Tools> {
  const tools = await setup(['redis', 'vms', ...cloudNeeds], progress, signal)
  await motoEnvironment(progress, signal)
  await vmImage(progress, signal)
  return tools
}

/** Does the work with a folder of its own, and takes down everything that it started. */
export async function onRun<T>(
  { progress, logsFolder }: Pick<RunContext, 'progress' | 'logsFolder'>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const run = await openRun(progress)
  try {
    return await work(run.stateDir)
  } finally {
    keepLogs(run.stateDir, logsFolder)
    await progress.part('take down', () => run.close())
  }
}

export interface ClusterRun extends Omit<TestCluster, 'stop'> {
  readonly folder: string
}

/** Does the work on a cluster of its own. */
export function onCluster<T>(
  context: RunContext,
  labsOnKwok: boolean,
  work: (run: ClusterRun) => Promise<T>,
): Promise<T> {
  return onRun(context, async folder => {
    const cluster = await startTestCluster({ ...context, ...context.choice, stateDir: folder, labsOnKwok })
    try {
      return await work({ ...cluster, folder })
    } finally {
      const { rightsName } = context
      if (rightsName) await keepRights(cluster.auditLog, `${rightsName}-${labsOnKwok ? 'kwok' : 'node'}`)
      await cluster.stop()
    }
  })
}

/** Whether no other run has the machine's one real node. */
export async function isRealNodeFree(): Promise<boolean> {
  const lock = await lockRealNode()
  await lock?.release()
  return lock !== null
}

/** Waits until the machine's one real node is free. Null with a message when another run keeps it. */
export async function onRealNode<T>(
  { progress, signal }: Pick<RunContext, 'progress' | 'signal'>,
  suite: () => Promise<T>,
): Promise<T | null> {
  try {
    await waitUntil(isRealNodeFree, { what: 'the real node, which another run has', limitMs: realNodeLimitMs, signal })
  } catch (error) {
    signal.throwIfAborted()
    progress.say(`Skipped: ${(error as Error).message}`)
    return null
  }
  return suite()
}

/** Keeps the logs of fleets whose tests failed. */
function keepLogs(stateDir: string, logsFolder: string): void {
  const fleets = join(stateDir, 'fleets')
  if (!existsSync(fleets)) return
  for (const name of readdirSync(fleets)) {
    const log = join(fleets, name, 'log')
    if (existsSync(log)) cpSync(log, join(logsFolder, name), { recursive: true })
  }
}
