/** The one fleet of the attacks on tenants: LNamespaces are one set for the whole cluster. */
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
