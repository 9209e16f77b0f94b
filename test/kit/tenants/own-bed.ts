/** A cluster of its own for a fleet of tenants: fleets on one cluster would write against each other. */
import { tenantsAccount } from '../../../src/tenants/settings.ts'
import { boxNamespace as namespace, startOwnBox } from '../cluster/own-box.ts'
import type { TestBed } from '../testbed.ts'

/** The parts of a test bed that a fleet of tenants needs. */
export type TenantsBed = Pick<TestBed, 'kubeconfig' | 'controllerKubeconfig' | 'auditLog' | 'stateDir' | 'kubectl'>

/** @returns the bed, and how it is taken down */
export function startOwnBed(options?: { readonly audit: boolean }): Promise<TenantsBed & { close(): Promise<void> }> {
  return startOwnBox(async ({ run, tools, cluster }) => {
    const metadata = { name: tenantsAccount, namespace }
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }))
    return {
      kubeconfig: cluster.kubeconfig,
      controllerKubeconfig: await cluster.tokenKubeconfig(namespace, tenantsAccount),
      auditLog: cluster.auditLog,
      stateDir: run.stateDir,
      kubectl: tools.program('kubectl'),
      close: () => run.close(),
    }
  }, options)
}
