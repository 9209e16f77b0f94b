/** What the API of tenants is made of. */
import type { Tenants } from '../../sudo/service.ts'
import type { CommonParts } from '../request/env.ts'
import type { SudoAuditor } from './audit.ts'

export const tenantsPrefix = '/tenants/v1'

export interface TenantsApiParts extends CommonParts {
  readonly tenants: Tenants
  readonly auditor: SudoAuditor
}
