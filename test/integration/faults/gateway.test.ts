/**
 * Attacks on the gateway, on two of them without a cluster: `npm run faults -- --only gateway`, `-t '^gateway G2 '`. Each is a
 * file in `gateway/`.
 */
import { afterAll } from 'vitest'
import './gateway/rights.ts'
import './gateway/credentials.ts'
import './gateway/framing.ts'
import './gateway/neighbours.ts'
// The last of its attacks and those of the next files run side by side: they wait.
import './gateway/revoked.ts'
import './gateway/rechecked.ts'
import './gateway/dumped.ts'
import './gateway/dumped-hosts.ts'
import './gateway/rollout.ts'
import './gateway/emptied.ts'
import { stopSharedSite } from './gateway/shared.ts'

afterAll(stopSharedSite)
