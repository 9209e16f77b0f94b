/** A cluster of its own for a file of tests that would disturb others on the shared one. */
import { startBox } from '../../../dev/cluster/box-cluster.ts'
import type { Cluster } from '../../../dev/cluster/types.ts'
import type { Progress } from '../../../dev/process/progress.ts'
import { openRun, type Run } from '../../../dev/run/run.ts'
import { setup, type Tools } from '../../../dev/setup/setup.ts'

export interface OwnBox {
  /** The cluster ends with it. */
  readonly run: Run
  readonly tools: Tools
  readonly cluster: Cluster
}

const quiet: Progress = { part: (_, start) => start(), say: () => {}, done: () => [], summary: () => {} }

/** The namespace of the controllers. */
export const boxNamespace = 'skylab'

/**
 * Starts a cluster with the controllers' namespace, without nodes.
 * @param prepare further work; if it fails, nothing stays
 */
export async function startOwnBox<T>(prepare: (box: OwnBox) => Promise<T>, { audit = false } = {}): Promise<T> {
  const tools = await setup(['cluster', 'kubectl'], quiet)
  const run = await openRun(quiet)
  try {
    const base = { stateDir: run.stateDir, tools, progress: quiet }
    const cluster = await startBox({ ...base, realNode: 'never', kwok: 0, audit })
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: boxNamespace } }))
    return await prepare({ run, tools, cluster })
  } catch (error) {
    await run.close()
    throw error
  }
}
