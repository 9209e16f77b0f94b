/** The one fleet of the attacks on tenants: LNamespaces are one set for the whole cluster. */
import { dirname, join } from 'node:path'
import { signalProcess } from '../../../../dev/process/process.ts'
import { testBed } from '../../../kit/testbed.ts'
import { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'

const replicas = isWhole ? 3 : 2

let started: Promise<TenantFleet> | undefined

/** The fleet, with all its replicas ready. The first attack starts it. */
export async function tenantFleet(): Promise<TenantFleet> {
  started ??= TenantFleet.start(replicas)
  const fleet = await started
  await fleet.ready()
  return fleet
}

export async function stopTenantFleet(): Promise<void> {
  const fleet = await started?.catch(() => undefined)
  started = undefined
  await fleet?.stop()
}

export const user = (name: string) => ({ kind: 'User', name })

/** Everybody has every right of the tenant. */
export function everything(names: readonly string[]) {
  const people = names.map(user)
  return { users: people, managers: people, sudoers: people }
}

/** Stops what collects garbage and ends namespaces, or lets it go on. In full size only: all other tests would wait too. */
export function signalCollector(signal: NodeJS.Signals): void {
  const cluster = join(dirname(testBed().kubeconfig), '..')
  if (!signalProcess(cluster, 'kube-controller-manager', signal)) throw new Error('no controller manager')
}
