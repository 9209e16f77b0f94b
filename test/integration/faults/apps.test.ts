/** Attacks on apps, one after another on one fleet: `npm run faults -- --only apps`, `-t '^apps G5 '`. */
import { afterAll } from 'vitest'
import './apps/late-writes.ts'
import './apps/flips.ts'
import './apps/namesakes.ts'
import './apps/marked-secrets.ts'
import { stopAppFleet } from './apps/shared.ts'

afterAll(stopAppFleet)
