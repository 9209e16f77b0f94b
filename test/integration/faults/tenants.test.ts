/** Attacks on tenants, one after another on one fleet: `npm run faults -- faults/tenants`, `-t '^tenants N3 '`. */
import { afterAll } from 'vitest'
import './tenants/late-rights.ts'
import './tenants/bounds-first.ts'
import './tenants/strangers.ts'
import './tenants/decoys.ts'
import './tenants/conditions.ts'
import './tenants/edits.ts'
import './tenants/account.ts'
import './tenants/bills.ts'
// Late: the garbage collector learns of a new kind of owner within half a minute.
import './tenants/self.ts'
// Last: it leaves hundreds of namespaces, and other deletions would queue behind them.
import './tenants/revocations.ts'
import { stopTenantFleet } from './tenants/shared.ts'

afterAll(stopTenantFleet)
