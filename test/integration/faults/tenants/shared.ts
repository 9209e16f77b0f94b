/** The one fleet of the attacks on tenants: LNamespaces are one set for the whole cluster. */
import { dirname, join } from 'node:path'
import type { Postgres } from '../../../../dev/postgres/postgres.ts'
import { signalProcess } from '../../../../dev/process/process.ts'
import { billingConfig, startBills } from '../../../kit/billing/postgres.ts'
import { testBed } from '../../../kit/testbed.ts'
import { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'

const replicas = isWhole ? 3 : 2

interface Started {
  readonly fleet: TenantFleet
  readonly postgres: Postgres
}

let started: Promise<Started> | undefined

/** Who pays where an LNamespace says nothing. */
export const commonBilling = { fund: 'common' }

/** With bills, so that all attacks show that these keep nothing from being done. */
async function start(): Promise<Started> {
  const { stateDir } = testBed()
  const postgres = await startBills({ stateDir })
  const billing = { ...billingConfig(postgres, stateDir), defaults: [{ billing: commonBilling }] }
  return { postgres, fleet: await TenantFleet.start(replicas, { tenants: { billing } }) }
}

/** The fleet and its database, with all replicas ready. The first attack starts them. */
export async function tenantFleetWithBills(): Promise<Started> {
  started ??= start()
  const both = await started
  await both.fleet.ready()
  return both
}

export const tenantFleet = async (): Promise<TenantFleet> => (await tenantFleetWithBills()).fleet

export async function stopTenantFleet(): Promise<void> {
  const both = await started?.catch(() => undefined)
  started = undefined
  await both?.fleet.stop()
  await both?.postgres.stop()
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
