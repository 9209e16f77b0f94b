/** A cluster of its own for a fleet of apps: a fleet takes the apps of another one for those of no group. */
import { appsAccount } from '../../../src/apps/probe.ts'
import { boxNamespace as namespace, startOwnBox } from '../cluster/own-box.ts'
import type { AppsBed } from './fleet.ts'

/** @returns the bed, and how it is taken down */
export function startOwnBed(): Promise<AppsBed & { close(): Promise<void> }> {
  return startOwnBox(
    async ({ run, cluster }) => {
      const metadata = { name: appsAccount, namespace }
      await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }))
      return {
        kubeconfig: cluster.kubeconfig,
        controllerKubeconfig: await cluster.tokenKubeconfig(namespace, appsAccount),
        stateDir: run.stateDir,
        close: () => run.close(),
      }
    },
    { kwok: 1 },
  )
}
