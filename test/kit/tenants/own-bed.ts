/** A cluster of its own for a fleet of tenants: fleets on one cluster would write against each other. */

import { startBox } from '../../../dev/cluster/box-cluster.ts'
import type { Progress } from '../../../dev/process/progress.ts'
import { openRun } from '../../../dev/run/run.ts'
import { setup } from '../../../dev/setup/setup.ts'
import { tenantsAccount } from '../../../src/tenants/settings.ts'
import type { TestBed } from '../testbed.ts'

/** The parts of a test bed that a fleet of tenants needs. */
export type TenantsBed = Pick<TestBed, 'kubeconfig' | 'controllerKubeconfig' | 'auditLog' | 'stateDir' | 'kubectl'>

const quiet: Progress = { part: (_, start) => start(), say: () => {}, done: () => [], summary: () => {} }

/** @returns the bed, and how it is taken down */
export async function startOwnBed(): Promise<TenantsBed & { close(): Promise<void> }> {
  const tools = await setup(['cluster', 'kubectl'], quiet)
  const run = await openRun(quiet)
  const { stateDir } = run
  try {
    const options = { stateDir, tools, progress: quiet, realNode: 'never', kwok: 0, audit: false } as const
    const cluster = await startBox(options)
    const namespace = 'skylab'
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }))
    const metadata = { name: tenantsAccount, namespace }
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }))
    const controllerKubeconfig = await cluster.tokenKubeconfig(namespace, tenantsAccount)
    const kubectl = tools.program('kubectl')
    const { kubeconfig } = cluster
    return { ...{ kubeconfig, controllerKubeconfig, auditLog: null, stateDir, kubectl }, close: () => run.close() }
  } catch (error) {
    await run.close()
    throw error
  }
}
