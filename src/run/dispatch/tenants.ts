/** Joins what the process knows of tenants: who is in which, and who pays. The controller of tenants writes it, under its own prefix. */
import { Tenancy } from '../../containers/tenancy.ts'
import { defaultTenant } from '../../dispatch/container.ts'
import { tagNames } from '../../dispatch/tags.ts'
import { Payers } from '../../pool/payers.ts'
import type { TableConnection } from '../../store/apps/entries.ts'
import { MemberStore, SomeMembers } from '../../store/apps/members.ts'
import { Keys } from '../../store/keys.ts'
import type { Basics } from '../basics.ts'

/** Without `tenantsKeyPrefix` nobody is in any, and no tag says who pays. */
export function joinTenants({ config }: Pick<Basics, 'config'>, connection: TableConnection) {
  const { tenants: limits, tenantsKeyPrefix, billingTags, CloudVMs } = config.dispatch!
  const isOn = tenantsKeyPrefix !== undefined
  const tenants = isOn ? Object.keys(limits).filter(name => name !== defaultTenant) : []
  const keys = new Keys(tenantsKeyPrefix ?? config.redis.keyPrefix)
  const members = new SomeMembers(new MemberStore(connection, keys, keys.tenantMembers).table, tenants)
  const names = tagNames(CloudVMs.TagKeyPrefix)
  return {
    tenancy: new Tenancy({ members, tenants, names: config.tenants.rest ?? {} }),
    payers: isOn ? new Payers({ members, tenants, keys: billingTags, names }) : undefined,
  }
}
